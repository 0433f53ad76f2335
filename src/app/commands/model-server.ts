import { once } from 'node:events';
import { loadScript, ScriptError } from '../model-server/load-script.ts';
import type { LoggedRequest } from '../model-server/request-log.ts';
import { startModelServer, type ModelServer } from '../model-server/start-model-server.ts';

/** Serves a script until SIGINT or SIGTERM; the exit code is 0, 2 for a wrong script, 4 when it can't be served. */
export async function modelServer(options: { script: string; port?: number; log?: string }): Promise<number> {
  let server: ModelServer;
  try {
    const script = await loadScript(options.script);
    const { script: _, ...rest } = options;
    server = await startModelServer({ script, ...rest, onEnd: (request) => say(line(request)) });
  } catch (error) {
    if (error instanceof ScriptError) {
      say(error.message);
      return 2;
    }
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SOCKET_BAD_PORT') {
      say(`--port ${options.port}: a port is a whole number from 0 to 65535 (0: a free one)`);
      return 2;
    }
    const remedy = remedyOf(error, options);
    if (!remedy) throw error;
    say(remedy);
    return 4;
  }
  process.stdout.write(`${server.url}\n`);
  say('Point nightshift at it (Ctrl-C ends the server):');
  say(`  ANTHROPIC_BASE_URL=${server.url} ANTHROPIC_API_KEY=rehearsal nightshift up`);
  say('  nightshift run "…"');
  const stop = new AbortController();
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal: stop.signal })));
  stop.abort();
  await server.close();
  return 0;
}

function remedyOf(error: unknown, { port, log }: { port?: number; log?: string }): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const wasListening = 'syscall' in error && error.syscall === 'listen';
  if (error.code === 'EADDRINUSE')
    return `port ${port} is taken: give another with --port, or leave it out for a free one`;
  if (wasListening)
    return `can't listen on port ${port} (${String(error.code)}): give another with --port, from 1024 on`;
  return `can't write the log ${log} (${String(error.code)}): give a path that can be written with --log`;
}

function line({ n, job, step, attempt, status, outcome, refused }: LoggedRequest): string {
  const where = job === undefined ? '' : ` ${job}, step ${step}${attempt === 1 ? '' : ` (request ${attempt})`}`;
  return `#${n}${where}: ${status ?? 'no answer'} ${outcome}${refused === undefined ? '' : `: ${refused}`}`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
