import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { followEvents } from '../../host/event-reader.ts';
import { eventsFile } from '../../core/paths.ts';
import { JOB, linesOf, type Rehearsal, rehearse } from './rehearsal.ts';
import { report, type Kill } from './report.ts';

const say = (line: string): void => {
  process.stdout.write(`demo> ${line}\n`);
};

/** The step of the script whose reply streams for seconds, and the one that runs the slow check. */
const CHECK_STEP = 4;
const LONG_REPLY_STEP = 5;

/** Watches the job, kills its worker twice, and answers its question: all that a bad night can bring, in half a minute. */
async function trouble(r: Rehearsal, kills: Kill[], signal: AbortSignal): Promise<void> {
  const journal = join(r.project, 'journal.txt');
  const open = (what: Kill['what']): Kill | undefined => kills.find((kill) => kill.what === what && !kill.backAt);
  const kill = (what: Kill['what'], sentence: string): void => {
    const pid = r.killWorker();
    kills.push({ what, at: Date.now() });
    say(`kill -9 ${pid}: ${sentence}`);
  };
  for await (const event of followEvents(join(r.jobDir, eventsFile), signal)) {
    if (event.kind === 'call.progress' && event.step === CHECK_STEP && kills.length === 0) {
      if (linesOf(journal).includes('check begun'))
        kill('Bash call', 'the worker dies in the middle of ./check.sh, which goes on');
    }
    if (event.kind === 'call.started' && event.step === CHECK_STEP && event.owner > 1) {
      const found = open('Bash call');
      if (found) found.backAt = event.at;
    }
    if (event.kind === 'model.text' && event.step === LONG_REPLY_STEP && kills.length === 1) {
      kill('model call', 'the worker dies in the middle of a reply');
    }
    if (event.kind === 'model.started' && event.step === LONG_REPLY_STEP && event.attempt > 1) {
      const found = open('model call');
      if (found) found.backAt = event.at;
    }
    if (event.kind === 'prompt.opened') {
      say(`a person answers: nightshift allow ${event.id}`);
      await r.nightshift(['allow', event.id]);
    }
    if (event.kind === 'job.closed') return;
  }
}

async function main(): Promise<number> {
  const r = await rehearse();
  const stopped = new AbortController();
  const kills: Kill[] = [];
  const begun = Date.now();
  try {
    say(`a small project with failing tests lies in ${r.project}; the model is a script, the tools are real`);
    const prompt = `Mend the failing test of the project in ${r.project} and commit the repair.`;
    const rules = ['Bash(node --test:*)', 'Bash(./check.sh:*)'];
    const args = ['run', prompt, '--name', JOB, '--permission-mode', 'acceptEdits'];
    say(`nightshift run "…" --permission-mode acceptEdits ${rules.map((rule) => `--allow '${rule}'`).join(' ')}`);
    const watching = trouble(r, kills, stopped.signal);
    const code = await r.nightshift([...args, ...rules.flatMap((rule) => ['--allow', rule])], (line) => {
      process.stdout.write(`${line}\n`);
    });
    stopped.abort();
    await watching.catch((error: unknown) => {
      if (!stopped.signal.aborted) throw error;
    });
    const table = report({
      job: JSON.parse(r.ask(['show', JOB, '--json'])),
      kills,
      journal: linesOf(join(r.project, 'journal.txt')),
      commits:
        execFileSync('git', ['-C', r.project, 'log', '--oneline'], { encoding: 'utf8' }).trim().split('\n').length - 1,
      requests: r.model.requests().filter((request) => request.path === '/v1/messages'),
      exitCode: code,
      seconds: (Date.now() - begun) / 1000,
    });
    process.stdout.write(`\n${table.text}\n`);
    return table.ok ? 0 : 1;
  } finally {
    stopped.abort();
    await r.close();
  }
}

process.exitCode = await main();
