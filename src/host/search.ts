import { spawn } from 'node:child_process';
import { isAbsolute } from 'node:path';
import type { Search, SearchRun } from '../core/ports.ts';

const MAX_STDERR = 64 * 1024;

/** ripgrep as a search. `rgPath` is absolute: a program that merely lies in the workspace is never run. */
export function createSearch(rgPath: string): Search {
  if (!isAbsolute(rgPath)) throw new Error(`The path of ripgrep must be absolute: ${rgPath}`);
  return { rg: (args, options) => runRg(rgPath, args, options) };
}

function runRg(rgPath: string, args: string[], options: Parameters<Search['rg']>[1]): Promise<SearchRun> {
  const { cwd, signal, timeoutMs, maxBytes } = options;
  return new Promise((done, fail) => {
    if (signal.aborted) return fail(signal.reason);
    const child = spawn(rgPath, ['--no-config', ...args], { cwd, env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let stderr = '';
    let truncated = false;
    let timedOut = false;

    const stop = () => child.kill('SIGKILL');
    const timer = setTimeout(() => {
      timedOut = true;
      stop();
    }, timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };

    child.stdout.on('data', (chunk: Buffer) => {
      if (truncated) return;
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= maxBytes) return;
      truncated = true;
      stop();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MAX_STDERR) stderr += text;
    });
    child.on('error', (error) => {
      settle();
      const why = `ripgrep can't be started in ${cwd}: ${error.message}. Is ${rgPath} there? Installing again mends it.`;
      fail(new Error(why, { cause: error }));
    });
    child.on('close', (code) => {
      settle();
      if (signal.aborted) return fail(signal.reason);
      const output = Buffer.concat(chunks).subarray(0, maxBytes);
      done({ code, lines: linesOf(output, truncated || timedOut), stderr, truncated, timedOut });
    });
  });
}

/** `cut`: the last line may be half a line, and is left out. */
function linesOf(output: Buffer, cut: boolean): string[] {
  const lines = output.toString('utf8').split('\n');
  const last = lines.pop();
  return cut || !last ? lines : [...lines, last];
}
