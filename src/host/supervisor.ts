import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Adoption, ShellExit, ShellRun, ShellSpec } from '../core/ports.ts';
import { errorCode, makeFolder, syncFolder } from './durable-file.ts';
import { ageOf, currentIdentity, isAlive, ProcessIdentity } from './identity.ts';
import { ifThere } from './if-there.ts';
import { killSession, killTree, MARK } from './kill-tree.ts';
import { COMPLAINTS, preludes } from './preludes.ts';
import { readTail } from './read-output.ts';
import { watchUntil } from './watch-until.ts';

/** The kernel's limit for one argument of a program, and the command is one argument of bash. */
export const MAX_COMMAND_BYTES = 128 * 1024 - 1;

/** Looks without news: how late the death of a supervisor may be noticed. */
const LOOK_MS = 250;
const PROGRESS_MS = 500;
const PROGRESS_BYTES = 400;
/** A supervisor that has not said the end of its killed command after this time is killed itself. */
const PATIENCE_MS = 5_000;

/** So much of what the files ahead of a command complained about is told, in bytes. */
const COMPLAINT_BYTES = 500;

/** Begins the names of the files by which supervisors are allowed to start; the boot id follows. */
export const TICKET = 'ticket-';
/** The program of every supervisor. */
export const SCRIPT = fileURLToPath(new URL('./supervisor.sh', import.meta.url));

const SupervisorRecord = ProcessIdentity.extend({ mark: z.string() });
type SupervisorRecord = z.infer<typeof SupervisorRecord>;

const ExitRecord = z.object({ code: z.int(), why: z.enum(['exit', 'deadline', 'size', 'killed']) });

/** The end of a command whose supervisor was killed. */
const KILLED: ShellExit = { code: null, why: 'killed' };

/**
 * Runs a command under a supervisor of its own that outlives this process; resolves once the supervisor is on record in
 * `dir`, which is used for one run only. Names in `env` that no shell can have are dropped; bash's own BASH_ENV is kept.
 * @throws Error when the command cannot be run at all, saying why.
 */
export async function start(dir: string, spec: ShellSpec, sh = '/bin/sh'): Promise<ShellRun> {
  await check(spec);
  await makeFolder(dir);
  const self = currentIdentity();
  await writeFile(join(dir, 'command'), spec.command, { mode: 0o600 });
  for (const [name, text] of Object.entries(preludes(dir, spec)))
    await writeFile(join(dir, name), text, { mode: 0o600 });
  const name = `${TICKET}${self.bootId}.${randomUUID()}`;
  const ticket = await open(join(dir, name), 'wx', 0o600);
  try {
    await ticket.sync();
    await syncFolder(dir);
    const limits = [Number.isFinite(spec.timeoutMs) ? Math.ceil(spec.timeoutMs) : 0, Math.floor(spec.maxBytes)];
    const child = spawn(
      sh,
      [SCRIPT, name, self.bootId, self.pidNamespace, spec.mark, ...limits.map(String), resolve(spec.cwd)],
      {
        argv0: 'sh',
        cwd: dir,
        env: supervisorEnv(spec.env),
        detached: true,
        stdio: ['ignore', 'ignore', 'ignore', ticket.fd],
      },
    );
    child.unref();
    return shellRun(dir, await onRecord(dir, child));
  } catch (error) {
    await ifThere(unlink(join(dir, name)));
    throw error;
  } finally {
    await ticket.close();
  }
}

/**
 * What became of the run in this folder. `never-started` is a promise: a supervisor that was about to start one finds
 * its ticket gone and gives up, so that `start` may be called again. After `gone` nothing of the command runs any more,
 * unless it hid from its mark, its session and its parents.
 */
export async function adopt(dir: string): Promise<Adoption> {
  const outputPath = join(dir, 'output');
  let record = await readRecord(dir);
  if (record === undefined) {
    const revoked = await revokeTickets(dir);
    record = await readRecord(dir);
    if (record === undefined) return revoked === 'unknown' ? { kind: 'gone', outputPath } : { kind: 'never-started' };
  }
  const alive = record !== 'corrupt' && isAlive(record);
  const exit = await readExit(dir);
  if (exit !== undefined) return { kind: 'ended', exit, outputPath };
  if (record === 'corrupt') return { kind: 'gone', outputPath };
  if (alive) return { kind: 'running', run: shellRun(dir, record) };
  await killTree({ mark: record.mark }, 0);
  return { kind: 'gone', outputPath };
}

/** Kills every process that carries the mark, and its relatives; answers how many they were. */
export function killMarked(mark: string): Promise<number> {
  return killTree({ mark });
}

function shellRun(dir: string, record: SupervisorRecord): ShellRun {
  const outputPath = join(dir, 'output');
  const tree = { mark: record.mark, supervisor: record };

  /** The order matters: an exit written just before the supervisor died must be seen. */
  const ended = async (): Promise<ShellExit | 'lost' | undefined> => {
    const alive = isAlive(record);
    return (await readExit(dir)) ?? (alive ? undefined : 'lost');
  };

  return {
    outputPath,
    ageMs: () => ageOf(record),
    async exit(signal, onProgress) {
      const report = onProgress && progressReporter(outputPath, onProgress);
      const look = async (): Promise<ShellExit | 'lost' | undefined> => {
        const exit = await ended();
        if (exit === undefined) await report?.();
        return exit;
      };
      const exit = await watchUntil({ dir, name: 'exit', everyMs: LOOK_MS }, look, signal);
      if (exit !== 'lost') return exit;
      await killTree(tree, 0);
      return KILLED;
    },
    async kill() {
      if ((await readExit(dir)) !== undefined) return;
      await writeFile(join(dir, 'why'), 'killed\n', { flag: 'wx' }).catch((error: unknown) => {
        if (errorCode(error) !== 'EEXIST') throw error;
      });
      await killTree(tree);
      const patience = AbortSignal.timeout(PATIENCE_MS);
      try {
        // Again and again: the command may have been about to start when the first kill found nothing.
        const look = async (): Promise<ShellExit | 'lost' | undefined> => {
          const exit = await ended();
          if (exit === undefined) await killTree(tree, 0);
          return exit;
        };
        const exit = await watchUntil({ dir, name: 'exit', everyMs: 50 }, look, patience);
        if (exit !== 'lost') return;
      } catch (error) {
        if (!patience.aborted) throw error;
        await killSession(record);
      }
      await killTree(tree, 0);
    },
  };
}

/** Resolves when the supervisor has put itself on record; rejects when it ended without. */
async function onRecord(dir: string, child: ChildProcess): Promise<SupervisorRecord> {
  const gone = new AbortController();
  child.once('error', (error) => {
    gone.abort(new Error(`The command cannot be started: ${error.message}.`, { cause: error }));
  });
  child.once('exit', (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    const text =
      code === 75
        ? `A command was already started in ${dir}: adopt it, or start this one in a folder of its own.`
        : `The command cannot be started: its supervisor ended with ${how}. Is the disk full, or ${dir} not writable?`;
    gone.abort(new Error(text));
  });
  const look = async (): Promise<SupervisorRecord | undefined> => {
    const record = await readRecord(dir);
    return record !== 'corrupt' && record?.pid === child.pid ? record : undefined;
  };
  try {
    return await watchUntil({ dir, name: 'process', everyMs: LOOK_MS }, look, gone.signal);
  } catch (error) {
    const record = await look();
    if (record === undefined) throw error;
    return record;
  }
}

async function check(spec: ShellSpec): Promise<void> {
  const bytes = Buffer.byteLength(spec.command);
  if (bytes > MAX_COMMAND_BYTES) {
    throw new Error(
      `The command is ${bytes} bytes long; a shell takes at most ${MAX_COMMAND_BYTES}. Write it to a file and run that.`,
    );
  }
  if (spec.command.includes('\0')) throw new Error('The command holds a NUL byte, which no shell can take: remove it.');
  if (!/^[^\s"\\\p{Cc}]+$/u.test(spec.mark)) {
    throw new Error(`The mark ${JSON.stringify(spec.mark)} holds blanks, quotes, backslashes or nothing.`);
  }
  if (!(spec.timeoutMs > 0)) throw new Error(`The time-out is ${spec.timeoutMs} ms; it has to be above 0.`);
  if (!(spec.maxBytes > 0)) throw new Error(`The output limit is ${spec.maxBytes} bytes; it has to be above 0.`);
  const place = await stat(spec.cwd).catch((error: unknown) => errorCode(error) ?? String(error));
  if (typeof place === 'string') {
    throw new Error(
      `The working directory ${spec.cwd} cannot be entered (${place}): make it again, or choose another.`,
    );
  }
  if (!place.isDirectory()) throw new Error(`The working directory ${spec.cwd} is no directory.`);
}

/** The command's environment without the mark, so that a kill by the mark spares the supervisor. */
function supervisorEnv(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== MARK));
}

/**
 * Takes the tickets away from supervisors that have not started. `unknown` after a reboot: the ticket was made to
 * survive a power cut, what a supervisor wrote with it was not.
 */
async function revokeTickets(dir: string): Promise<'revoked' | 'unknown'> {
  const { bootId } = currentIdentity();
  const names = (await ifThere(readdir(dir))) ?? [];
  const tickets = names.filter((name) => name.startsWith(TICKET) && !name.endsWith('.pipe'));
  if (tickets.some((name) => !name.startsWith(`${TICKET}${bootId}.`))) return 'unknown';
  for (const name of tickets) await ifThere(unlink(join(dir, name)));
  return 'revoked';
}

async function readRecord(dir: string): Promise<SupervisorRecord | 'corrupt' | undefined> {
  const text = await ifThere(readFile(join(dir, 'process'), 'utf8'));
  return text === undefined ? undefined : (parseJson(SupervisorRecord, text) ?? 'corrupt');
}

/** A torn record, after a power cut, counts as none. */
async function readExit(dir: string): Promise<ShellExit | undefined> {
  const text = await ifThere(readFile(join(dir, 'exit'), 'utf8'));
  const record = text === undefined ? undefined : parseJson(ExitRecord, text);
  if (record === undefined) return undefined;
  const signal = signalOf(record.code);
  const cwd = (await ifThere(readFile(join(dir, 'cwd'), 'utf8')))?.replace(/\n$/, '');
  const setup = (await ifThere(readTail(join(dir, COMPLAINTS), COMPLAINT_BYTES)))?.tail.trim();
  return { ...record, ...(signal !== undefined && { signal }), ...(cwd && { cwd }), ...(setup && { setup }) };
}

/** The shell's way to say a signal; `exit 143` looks the same. */
function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

function parseJson<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function progressReporter(path: string, tell: (tail: string, bytes: number) => void): () => Promise<void> {
  let toldAt = performance.now();
  let told = 0;
  return async () => {
    if (performance.now() - toldAt < PROGRESS_MS) return;
    const { tail, bytes } = await readTail(path, PROGRESS_BYTES);
    if (bytes === told) return;
    toldAt = performance.now();
    told = bytes;
    tell(tail, bytes);
  };
}
