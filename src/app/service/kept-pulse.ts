import { writeDurably } from '../../host/durable-file.ts';
import type { Env, Home } from './home.ts';
import { type Pulse, olderCopy, pulseFiles, readPulse, standing } from './pulse.ts';
import { errorText } from './service-error.ts';

/** The pulse of a home whose service this process keeps. */
export interface KeptPulse {
  /** Counts for the first time; throws ServiceError when the home is an older copy that nobody said to go on with. */
  readonly begin: () => Promise<void>;
  /** Counts on, once it has begun and while the home is this one; a disk that can't be written is logged and no error. */
  readonly beat: () => Promise<void>;
  /** Whether the home is still the one that this process counts: false once an older copy was put in its place. */
  readonly isSame: () => boolean;
}

/** What a pulse is kept with. */
export interface PulseOptions {
  readonly home: Home;
  readonly env: Env;
  readonly log: (line: string) => void;
  /** Whether the home is still under this process's lock. */
  readonly holdsHome: () => boolean;
  /** Whether an older copy is to be taken as it is. */
  readonly restored: boolean;
}

/** Makes the pulse of a home; call it under the home's lock. */
export function keepPulse({ home, env, log, holdsHome, restored }: PulseOptions): KeptPulse {
  const files = pulseFiles(home, env);
  let next: number | undefined;
  /** What the home's file holds at least, as long as nobody replaces it. */
  let held = 0;
  let failed = false;
  let last = Promise.resolve();

  // A file that is gone is no sign of a copy: whoever replaces the whole home takes the lock away too.
  const isSame = (): boolean => holdsHome() && (readPulse(files.inside)?.count ?? held) >= held;
  const count = async (): Promise<void> => {
    if (next === undefined || !isSame()) return;
    const pulse: Pulse = { v: 1, count: next, at: new Date().toISOString() };
    const text = `${JSON.stringify(pulse)}\n`;
    try {
      await writeDurably(files.inside, text);
      held = pulse.count;
      next = pulse.count + 1;
      await writeDurably(files.outside, text, { folders: true });
      failed = false;
    } catch (error) {
      if (!failed) log(`an older copy of this home might not be noticed for now: ${errorText(error)}`);
      failed = true;
    }
  };
  const beat = (): Promise<void> => (last = last.then(count));

  return {
    async begin() {
      const inside = readPulse(files.inside, log);
      const found = standing(inside, readPulse(files.outside, log));
      if (found.kind === 'older' && !restored) throw olderCopy(home, found);
      if (found.kind === 'older') log('the home was put back from an older copy: going on with it, as was asked');
      held = inside?.count ?? 0;
      // Above both, so that copies of what the home was before it was put back are older ones too.
      next = found.count + 1;
      await beat();
    },
    beat,
    isSame,
  };
}
