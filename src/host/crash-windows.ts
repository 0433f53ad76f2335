import type { Hosts } from '../core/hosts.ts';
import type { Adoption, JobFiles, Ledger, ModelClient, OwnedCall, Shell, ShellRun } from '../core/ports.ts';
import type { Pause } from './pause.ts';

/** The places where a process can die with something half done, each with what is on record there and what is not. */
export const CRASH_WINDOWS = {
  'seal.before-append': 'The results of a step are in the ledger; the transcript does not hold them yet.',
  'seal.after-append': 'The transcript holds the results of a step; the model was not asked yet.',
  'model.before-request': 'Everything is ready to ask the model; nothing was sent and no attempt is on record.',
  'model.after-reply': 'The whole reply is in the spool and paid; neither the transcript nor the server knows it.',
  'model.after-cancel': 'A request was cancelled while its reply came; nobody has counted what it cost.',
  'reply.before-append': 'The reply is told to watchers; the transcript does not hold it yet.',
  'reply.after-append': 'The transcript holds the reply; the server does not know that the model has answered.',
  'tool.owned': 'A process has the call; nothing says what it is about to do.',
  'tool.given-back': 'A pass has ended where somebody must be waited for; the server does not know it yet.',
  'tool.claimed': 'It is on record what the call is about to do; nothing is done.',
  'tool.ran': 'What the tool gave is on record; the hooks after it have not begun.',
  'tool.before-result': 'The effect is done; the ledger does not hold its result.',
  'tool.result-written': 'The ledger holds the result; the server does not know that the call has ended.',
  'hook.owned': 'A process has the handler of a hook; it has not begun.',
  'hook.before-result': 'The handler of a hook has ended; nothing says what it came to.',
  'hook.result-written': 'What the handler of a hook came to is on record; nobody has acted on it.',
  'shell.started': 'The command runs under its supervisor; nobody waits for it yet.',
  'shell.before-kill': 'The call is cancelled; its command still runs.',
  'shell.after-kill': 'The command of a cancelled call is dead; nothing says so.',
  'task.published': 'A command goes on in the background and its output can be read; no task watches it yet.',
  'file.before-write': 'The claim says what the file will hold; no byte of it is written.',
  'file.before-rename': 'The new content lies beside the file; the file is the old one.',
  'file.after-write': 'The file is the new one; the ledger does not hold the result.',
  'close.before-record': 'The job is at its end and its transcript is whole; its record is not written.',
  'close.after-record': 'The record of the job is written; the server takes the job for open.',
} as const;
export type CrashWindow = keyof typeof CRASH_WINDOWS;

/** The same hosts, which pause at every crash window. Only a worker that is to be killed there has them. */
export function withCrashWindows(hosts: Hosts, pause: Pause): Hosts {
  const at = (window: CrashWindow): Promise<void> => pause(window);
  return {
    ...hosts,
    model: ofModel(hosts.model, at),
    shell: ofShell(hosts.shell, at),
    files: {
      ...hosts.files,
      async write(path, bytes) {
        await at('file.before-write');
        await hosts.files.write(path, bytes);
        await at('file.after-write');
      },
    },
    job: async (id) => ofJob(await hosts.job(id), at),
  };
}

type At = (window: CrashWindow) => Promise<void>;

function ofModel(model: ModelClient, at: At): ModelClient {
  return {
    ...model,
    async request(request, io) {
      await at('model.before-request');
      const outcome = await model.request(request, io);
      if (outcome.kind === 'reply') await at('model.after-reply');
      if (outcome.kind === 'cancelled') await at('model.after-cancel');
      return outcome;
    },
  };
}

function ofJob(files: JobFiles, at: At): JobFiles {
  return {
    ...files,
    ledger: ofLedger(files.ledger, at),
    transcript: {
      ...files.transcript,
      async append(parent, message, meta) {
        const what = message.role === 'user' ? 'seal' : 'reply';
        await at(`${what}.before-append`);
        const head = await files.transcript.append(parent, message, meta);
        await at(`${what}.after-append`);
        return head;
      },
    },
    async writeRecord(record) {
      await at('close.before-record');
      await files.writeRecord(record);
      await at('close.after-record');
    },
  };
}

function ofLedger(ledger: Ledger, at: At): Ledger {
  return {
    ...ledger,
    async own(key, signal) {
      const ownership = await ledger.own(key, signal);
      if (ownership.kind !== 'owned') return ownership;
      const what = /(^|\/)hooks\//.test(key) ? 'hook' : 'tool';
      await at(`${what}.owned`);
      return { kind: 'owned', call: ofCall(ownership.call, what, at) };
    },
  };
}

function ofCall(call: OwnedCall, what: 'tool' | 'hook', at: At): OwnedCall {
  let finished = false;
  return {
    ...call,
    async claim(value) {
      await call.claim(value);
      await at('tool.claimed');
    },
    async ran(value) {
      await call.ran(value);
      await at('tool.ran');
    },
    async result(value) {
      await at(`${what}.before-result`);
      await call.result(value);
      finished = true;
      await at(`${what}.result-written`);
    },
    async release() {
      await call.release();
      if (!finished && what === 'tool') await at('tool.given-back');
    },
  };
}

function ofShell(shell: Shell, at: At): Shell {
  return {
    ...shell,
    async start(dir, spec) {
      const run = await shell.start(dir, spec);
      await at('shell.started');
      return ofRun(run, at);
    },
    async adopt(dir): Promise<Adoption> {
      const found = await shell.adopt(dir);
      return found.kind === 'running' ? { ...found, run: ofRun(found.run, at) } : found;
    },
    async publish(outputPath, path) {
      await shell.publish(outputPath, path);
      await at('task.published');
    },
  };
}

function ofRun(run: ShellRun, at: At): ShellRun {
  return {
    ...run,
    async kill() {
      await at('shell.before-kill');
      await run.kill();
      await at('shell.after-kill');
    },
  };
}
