import { execFile } from 'node:child_process';
import { errorCode, errorText } from './service-error.ts';

/** What `temporal --version` says: of the program, and of the server inside it. */
export interface TemporalVersion {
  readonly cli: string;
  readonly server: string;
}

/** Asks a program for its version; a text says why it is not a usable `temporal`. */
export async function temporalVersion(program: string): Promise<TemporalVersion | string> {
  try {
    const output = await run(program, ['--version']);
    const match = /temporal version v?(\d+\.\d+\.\d+\S*)(?: \(Server (\d+\.\d+\.\d+[^,)]*))?/.exec(output);
    if (match?.[1] === undefined) return `it answers "${firstLine(output)}" to --version, so it is another program`;
    return { cli: match[1], server: match[2] ?? 'unknown' };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'there is no such file';
    if (errorCode(error) === 'EACCES') return 'it is not executable';
    return `it does not run: ${firstLine(errorText(error))}`;
  }
}

/** Major and minor number, which is what a database belongs to: `1.9` of `1.9.1`. */
export function release(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function run(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: 10_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout || stderr);
      else reject(error);
    });
  });
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 200) ?? '';
}
