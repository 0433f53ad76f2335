import { chmodSync, rmSync } from 'node:fs';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { z } from 'zod';
import { ServiceError, errorCode, errorText } from './service-error.ts';
import { ServiceRecord } from './service-record.ts';
import { socketPath } from './socket-path.ts';

/** What a keeper can be asked, one JSON line per connection. */
export const Command = z.discriminatedUnion('cmd', [
  z.object({ cmd: z.literal('status') }),
  /**
   * Answers when server and worker both answer; with `first` when the server does, and the first worker is not started
   * before the asker hangs up or five seconds have gone.
   */
  z.object({ cmd: z.literal('wait'), first: z.boolean().optional() }),
  z.object({ cmd: z.literal('stop'), now: z.boolean() }),
  /** Restarts the workers, with other model variables or from another program where they are given. */
  z.object({
    cmd: z.literal('restart-worker'),
    variables: z.record(z.string(), z.string()).optional(),
    workerFile: z.string().optional(),
  }),
  /** Keeps a second worker from now on. */
  z.object({ cmd: z.literal('standby') }),
]);
export type Command = z.infer<typeof Command>;

/** The keeper's answer: its record, and what tells whether the worker has the model variables of the asker. */
export const KeeperState = z.object({
  record: ServiceRecord,
  credentials: z.boolean(),
  variables: z.object({ salt: z.string(), hash: z.string() }),
});
export type KeeperState = z.infer<typeof KeeperState>;

/** Lines of an answer: signs of life and progress, then one of the other two. */
const Line = z.union([
  z.object({ progress: z.string().nullable() }),
  z.object({ error: z.object({ message: z.string(), fix: z.string(), lasting: z.boolean().optional() }) }),
  z.object({ state: KeeperState }),
]);

/** How asking ended: nobody listens, the keeper accepts but says nothing, or its answer. */
export type Asked =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'answer'; readonly state: KeeperState };

/**
 * Carries out a command; `progress` reaches the asker at once, `left` settles when he has hung up. Without a state the
 * asker is left with nobody to ask.
 */
export type Handler = (
  command: Command,
  progress: (line: string) => void,
  left: Promise<void>,
) => Promise<KeeperState | undefined>;

/** Signs of life come this often while a command takes its time, in ms. */
const SIGN_EVERY = 1000;
/** A keeper that gives no sign for this long hangs, in ms. */
const SILENT_AFTER = 10_000;

/** A socket that is listened on. */
export interface Control {
  /** Listens anew, for when somebody removed the socket: nobody can reach the old one. */
  readonly listenAgain: () => Promise<void>;
  /** Gives the answers that are still due and closes. */
  readonly close: () => Promise<void>;
}

/** Listens on the home's socket, for this user only. Call it under the home's lock: a socket file that is there is a dead one. */
export async function serveControl(socket: string, handle: Handler): Promise<Control> {
  const { path, close } = socketPath(socket);
  const open = new Set<Socket>();
  const due = new Set<Promise<void>>();
  const take = (peer: Socket): void => {
    open.add(peer);
    peer.on('error', () => {}).once('close', () => open.delete(peer));
    onLine(peer, (line) => {
      const answered = answer(peer, line, handle).finally(() => due.delete(answered));
      due.add(answered);
    });
  };
  let server: Server | undefined;
  const listen = async (): Promise<void> => {
    // It removes the file as it closes, whosever that is.
    server?.close();
    rmSync(socket, { force: true });
    const next = createServer(take);
    server = next;
    await new Promise<void>((resolve, reject) => next.once('error', reject).listen(path, resolve));
    chmodSync(socket, 0o600);
  };
  await listen();
  return {
    listenAgain: listen,
    async close() {
      server?.close();
      await Promise.all(due);
      for (const peer of open) peer.destroySoon();
      rmSync(socket, { force: true });
      close();
    },
  };
}

/** Asks the keeper of a home; throws ServiceError when it answers with an error. `stay`: hangs up only when that settles. */
export function askKeeper(
  socket: string,
  command: Command,
  progress: (line: string) => void,
  silentAfter = SILENT_AFTER,
  stay?: Promise<void>,
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const target = socketPath(socket);
    const peer = connect(target.path);
    let connected = false;
    const settle = (act: () => void): void => {
      peer.destroy();
      act();
    };
    peer.setTimeout(silentAfter, () => settle(() => resolve({ kind: connected ? 'silent' : 'nobody' })));
    peer.once('connect', () => {
      connected = true;
      peer.write(`${JSON.stringify(command)}\n`);
    });
    peer.once('error', (error) => {
      const nobody = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTDIR'].includes(errorCode(error) ?? '');
      settle(() => (nobody ? resolve({ kind: 'nobody' }) : reject(error)));
    });
    // A keeper that goes away in the middle of an answer is gone.
    peer.once('close', () => {
      target.close();
      resolve({ kind: 'nobody' });
    });
    onLine(peer, (text) => {
      const line = readLine(text);
      if (line === undefined) return;
      if ('progress' in line) {
        if (line.progress !== null) progress(line.progress);
      } else if ('error' in line) {
        const { message, fix, lasting } = line.error;
        settle(() => reject(new ServiceError(message, fix, lasting)));
      } else if (stay !== undefined) {
        resolve({ kind: 'answer', state: line.state });
        peer.setTimeout(0).unref();
        void stay.finally(() => peer.destroy());
      } else settle(() => resolve({ kind: 'answer', state: line.state }));
    });
  });
}

function onLine(peer: Socket, take: (line: string) => void): void {
  let rest = '';
  peer.setEncoding('utf8').on('data', (part: string) => {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(take);
  });
}

function readLine(text: string): z.infer<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

async function answer(peer: Socket, text: string, handle: Handler): Promise<void> {
  const say = (line: z.infer<typeof Line>): void => {
    if (peer.writable) peer.write(`${JSON.stringify(line)}\n`);
  };
  const signs = setInterval(() => say({ progress: null }), SIGN_EVERY);
  const left = new Promise<void>((resolve) => peer.once('close', () => resolve()));
  let stays = false;
  try {
    const command = Command.parse(JSON.parse(text));
    const state = await handle(command, (line) => say({ progress: line }), left);
    stays = command.cmd === 'wait' && command.first === true && state !== undefined;
    if (state !== undefined) say({ state });
  } catch (error) {
    const known = error instanceof ServiceError ? error : undefined;
    const { fix, lasting } = known ?? { fix: 'nightshift down && nightshift up', lasting: false };
    say({ error: { message: errorText(error), fix, lasting } });
  } finally {
    clearInterval(signs);
    if (!stays) peer.end();
  }
}
