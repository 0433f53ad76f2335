import { currentIdentity } from '../../host/identity.ts';
import { type Command, type KeeperState, askKeeper, serveControl } from './control.ts';
import { type Env, type Home, idFile, openHome, writeId } from './home.ts';
import { ANOTHER_KEEPER, type KeeperSpec } from './keeper-spec.ts';
import { keepFiles } from './kept-files.ts';
import { keepPulse } from './kept-pulse.ts';
import { keepService } from './kept-service.ts';
import { type Lock, takeLock } from './lock.ts';

/** How a keeper is run. */
export interface KeeperOptions {
  readonly spec: KeeperSpec;
  /** The environment of the shell that started the service. */
  readonly env: Env;
  readonly log: (line: string) => void;
  /** Aborts to end the service in order. */
  readonly signal: AbortSignal;
}

const LOOK_EVERY = 1000;
/** A copy that was made after the last beat before a crash is not known to be an older one. In ms. */
const BEAT_EVERY = 60_000;
/** How long a keeper that could not start stays for somebody to ask why, in ms. */
const LAST_WORDS = 3000;

/**
 * Keeps the server and the worker of a home running until it is told to stop; resolves with the exit code of the process
 * and throws when the service could not be started. At most one keeper has a home: the lock says which.
 */
export async function runKeeper(options: KeeperOptions): Promise<number> {
  const home = openHome(options.spec.home);
  const answers = async (): Promise<boolean> =>
    (await askKeeper(home.socket, { cmd: 'status' }, () => {})).kind !== 'nobody';
  const lock = await takeLock(home.lock, answers);
  if (lock.kind === 'held') {
    options.log(`the keeper with pid ${lock.holder.identity.pid} has this home`);
    return ANOTHER_KEEPER;
  }
  try {
    await keep(options, home, lock);
    return 0;
  } finally {
    lock.release();
  }
}

async function keep({ spec, env, log: write, signal }: KeeperOptions, home: Home, lock: Lock): Promise<void> {
  const listeners = new Set<(line: string) => void>();
  const log = (line: string): void => {
    write(line);
    for (const listener of listeners) listener(line);
  };
  const keeper = { identity: currentIdentity(), startedAt: new Date().toISOString() };
  const pulse = keepPulse({ home, env, log, holdsHome: lock.holds, restored: spec.restored === true });
  const service = keepService({ spec, home, env, keeper, log, holdsHome: lock.holds, admit: pulse.begin });
  const stopping = newSignal();
  const stopped = newSignal();
  const heard = newSignal();
  let now = false;
  let isStopping = false;
  void stopping.promise.then(() => (isStopping = true));
  signal.addEventListener('abort', stopping.fire);
  if (signal.aborted) stopping.fire();

  let started = Promise.resolve();
  const obey = async (command: Command, left: Promise<void>): Promise<KeeperState | undefined> => {
    switch (command.cmd) {
      case 'status':
        return service.state();
      case 'wait':
        try {
          if (command.first === true) {
            service.holdWorker(left);
            await Promise.race([service.serverReady(), started, stopping.promise]);
          } else {
            await started;
            await Promise.race([service.ready(), stopping.promise]);
          }
        } catch (error) {
          heard.fire();
          if (!isStopping) throw error;
        }
        if (!isStopping) return service.state();
        // Whoever waits for a service that is being ended wants the next one.
        await stopped.promise;
        return undefined;
      case 'stop':
        now = command.now;
        stopping.fire();
        await stopped.promise;
        return service.state();
      case 'restart-worker':
        await started;
        await service.restartWorker(command);
        return service.state();
      case 'standby':
        await started;
        await service.keepStandby();
        return service.state();
      default:
        return command satisfies never;
    }
  };
  const control = await serveControl(home.socket, (command, progress, left) => {
    if (command.cmd === 'status') return obey(command, left);
    listeners.add(progress);
    return obey(command, left).finally(() => listeners.delete(progress));
  });
  const mend = keepFiles(
    [
      { path: idFile(home.home), make: () => writeId(home.home, home.id) },
      { path: home.socket, make: control.listenAgain },
      { path: home.record, make: () => service.writeRecord() },
    ],
    log,
  );
  const looks = setInterval(() => {
    service.look();
    if (pulse.isSame()) return void mend();
    log('the home was removed or replaced: ending the service');
    now = true;
    stopping.fire();
  }, LOOK_EVERY);
  const beats = setInterval(() => void pulse.beat(), BEAT_EVERY);

  try {
    started = service.start();
    await Promise.race([stopping.promise, started.then(() => stopping.promise)]);
    log('stopping …');
  } catch (error) {
    await Promise.race([heard.promise, stopping.promise, pause(LAST_WORDS)]);
    throw error;
  } finally {
    clearInterval(looks);
    clearInterval(beats);
    await service.stop(now);
    await pulse.beat();
    stopped.fire();
    await control.close();
  }
}

function newSignal(): { readonly promise: Promise<void>; readonly fire: () => void } {
  let fire = (): void => {};
  const promise = new Promise<void>((resolve) => (fire = resolve));
  return { promise, fire };
}

function pause(ms: number): Promise<void> {
  // The socket keeps the process alive meanwhile.
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
