import type { Command } from 'commander';
import { Option } from 'commander';
import type { Io } from './io.ts';
import { addCommand, collect } from './add-command.ts';
import type { AnswerOptions } from './commands/answer.ts';
import type { LsOptions } from './commands/ls.ts';
import type { RunOptions } from './commands/run.ts';
import type { StartOptions } from './commands/start.ts';
import type { LimitFlags } from './limit-flags.ts';

type Json = { json?: boolean };

/** The commands about jobs. Each one's code is loaded when it is called, so that help is quick. */
export function addJobCommands(program: Command, io: Io, done: (code: number) => void): void {
  const add = addCommand(program, done);
  program.commandsGroup('Jobs:');

  withJobOptions(
    add({
      name: 'run',
      args: '[prompt]',
      about: 'start a job and follow it to its end',
      more: 'The prompt may come from stdin (- or a pipe). Ctrl-C stops the watching, not the job. Exits with how the job ended.',
      examples: [
        'nightshift run "Fix the failing test in src/parse.ts"',
        'nightshift run --allow \'Bash(npm test:*)\' --allow Edit "Make npm test green"',
        'nightshift run --max-usd 5 --deadline 2h --output-format json - < task.md',
      ],
      run: async (prompt: string | undefined, options: RunOptions) =>
        (await import('./commands/run.ts')).run(prompt, options, io),
    }),
  ).addOption(
    new Option(
      '--output-format <format>',
      'text: the answer alone on stdout; json: as result --json; stream-json: one message per line',
    ).choices(['text', 'json', 'stream-json']),
  );

  withJobOptions(
    add({
      name: 'start',
      args: '[prompt]',
      about: 'start a job and print its id',
      more: 'The same as run, without following. The prompt may come from stdin (- or a pipe).',
      examples: [
        'nightshift start "Upgrade the dependencies one by one"',
        'nightshift start --name nightly-docs --reuse - < task.md',
        'id=$(nightshift start "Write the changelog") && nightshift result --wait "$id"',
      ],
      run: async (prompt: string | undefined, options: StartOptions) =>
        (await import('./commands/start.ts')).start(prompt, options, io),
    }),
  ).option('--json', 'print {"id"}');

  add({
    name: 'ls',
    about: 'list jobs, newest first',
    more: 'Without --all: those that are open, and those that ended in the last 7 days. A job that runs but does not go on is stuck: what holds it up stands below the table, and with --json in "trouble": {"text", "attempts", "next"}, else null.',
    examples: ['nightshift ls', 'nightshift ls --status waiting', 'nightshift ls --all --json'],
    run: async (options: LsOptions) => (await import('./commands/ls.ts')).ls(options, io),
  })
    .option('--all', 'every job of this home')
    .addOption(
      new Option('--status <status>', 'only jobs that stand like this').choices([
        'running',
        'waiting',
        'idle',
        'done',
        'failed',
        'stopped',
        'cancelled',
      ]),
    )
    .option('--json', 'print an array');

  add({
    name: 'show',
    args: '<id>',
    about: 'what one job did, by which rule, what it cost, what is unsure',
    more: 'With --json the fields of ls, "trouble" among them, and the turns with their steps and calls.',
    examples: [
      'nightshift show fix-the-test-x7k2',
      "nightshift show --json fix-the-test-x7k2 | jq '.turns[-1].steps[-1].calls'",
    ],
    run: async (id: string, options: Json) => (await import('./commands/show.ts')).show(id, options, io),
  }).option('--json', 'print an object');

  add({
    name: 'transcript',
    args: '<id>',
    about: 'the conversation as the model would get it now',
    examples: ['nightshift transcript fix-the-test-x7k2', 'nightshift transcript --json fix-the-test-x7k2 | jq length'],
    run: async (id: string, options: Json) => (await import('./commands/transcript.ts')).transcript(id, options, io),
  }).option('--json', 'print an array of messages');

  add({
    name: 'watch',
    args: '<id>',
    about: 'follow a job to its end and show what run shows',
    more: 'Exits with 0 however the job ended; result exits with how it did. Ctrl-C stops the watching, not the job.',
    examples: ['nightshift watch fix-the-test-x7k2', 'nightshift watch --jsonl fix-the-test-x7k2'],
    run: async (id: string, options: { jsonl?: boolean }) =>
      (await import('./commands/watch.ts')).watch(id, options, io),
  }).option('--jsonl', 'print events, one JSON object per line');

  add({
    name: 'logs',
    args: '<id>',
    about: 'the events of a job so far',
    examples: ['nightshift logs fix-the-test-x7k2', 'nightshift logs -f --jsonl fix-the-test-x7k2'],
    run: async (id: string, options: { follow?: boolean; jsonl?: boolean }) =>
      (await import('./commands/logs.ts')).logs(id, options, io),
  })
    .option('-f, --follow', 'go on until the job ends')
    .option('--jsonl', 'print events, one JSON object per line');

  add({
    name: 'result',
    args: '<id>',
    about: 'the last answer of a job; exits with how the job ended',
    more: 'Without --wait it exits with 1 while the job runs or waits: there is no result yet.',
    examples: ['nightshift result fix-the-test-x7k2', 'nightshift result --wait --json fix-the-test-x7k2'],
    run: async (id: string, options: Json & { wait?: boolean }) =>
      (await import('./commands/result.ts')).result(id, options, io),
  })
    .option('--wait', 'wait until it is done, failed, stopped, cancelled or idle')
    .option('--json', 'print an object');

  program.commandsGroup('Questions:');
  add({
    name: 'inbox',
    about: 'the questions of all jobs, oldest first',
    examples: ['nightshift inbox', "nightshift inbox --json | jq -r '.[].id'"],
    run: async (options: Json) => (await import('./commands/inbox.ts')).inbox(options, io),
  }).option('--json', 'print an array');

  add({
    name: 'allow',
    args: '[ids...]',
    about: 'answer questions: the calls run',
    examples: [
      'nightshift allow fix-the-test-x7k2:1',
      'nightshift allow --always fix-the-test-x7k2:1',
      'nightshift allow --save fix-the-test-x7k2:1',
      `nightshift allow fix-the-test-x7k2:1 --input '{"command":"npm test -- --run"}'`,
      `nightshift allow fix-the-test-x7k2:2 --input '{"answers":{"Which database?":"Postgres"}}'`,
      'nightshift allow --all',
    ],
    run: async (ids: string[], options: AnswerOptions) =>
      (await import('./commands/answer.ts')).allow(ids, options, io),
  })
    .option('--all', 'every question that waits')
    .option('--always', 'also add the suggested rules, for this job')
    .option('--save', 'as --always, and keep the rules in .claude/settings.local.json of the folder')
    .option('--input <json>', 'run the call with this input instead, or give answers: {"answers":{…}}')
    .option('--message <text>', 'tell the model something too')
    .option('--json', 'print an array');

  add({
    name: 'deny',
    args: '[ids...]',
    about: 'answer questions: the calls do not run, and the model is told',
    examples: [
      'nightshift deny fix-the-test-x7k2:1 --message "Use npm ci"',
      'nightshift deny --interrupt fix-the-test-x7k2:1',
      'nightshift deny --all',
    ],
    run: async (ids: string[], options: AnswerOptions) => (await import('./commands/answer.ts')).deny(ids, options, io),
  })
    .option('--all', 'every question that waits')
    .option('--message <text>', 'tell the model why')
    .option('--interrupt', 'end the turn too')
    .option('--json', 'print an array');

  program.commandsGroup('Steering:');
  add({
    name: 'send',
    args: '<id> [text]',
    about: 'give a job a message; one that has ended is opened again',
    examples: [
      'nightshift send fix-the-test-x7k2 "Also update the README"',
      'nightshift send fix-the-test-x7k2 - < notes.md',
    ],
    run: async (id: string, text: string | undefined, options: Json) =>
      (await import('./commands/send.ts')).send(id, text, options, io),
  }).option('--json', 'print {"id","status","limit"}');

  add({
    name: 'interrupt',
    args: '<id>',
    about: 'end the running turn; the job stays and takes messages',
    examples: ['nightshift interrupt fix-the-test-x7k2', 'nightshift interrupt --now fix-the-test-x7k2'],
    run: async (id: string, options: Json & { now?: boolean }) =>
      (await import('./commands/interrupt.ts')).interrupt(id, options, io),
  })
    .option('--now', 'stop running calls too that would rather end by themselves')
    .option('--json', 'print {"id","status"}');

  add({
    name: 'cancel',
    args: '<id>',
    about: 'end a job; what it did is kept',
    examples: ['nightshift cancel fix-the-test-x7k2'],
    run: async (id: string, options: Json) => (await import('./commands/cancel.ts')).cancel(id, options, io),
  }).option('--json', 'print {"id","status"}');

  withLimits(
    add({
      name: 'resume',
      args: '<id>',
      about: 'let a job go on that ended at a limit, failed, was cancelled or waits',
      more: 'The numbers are the new totals; a deadline counts from now.',
      examples: [
        'nightshift resume fix-the-test-x7k2 --max-usd 20',
        'nightshift resume fix-the-test-x7k2 --deadline 8h',
      ],
      run: async (id: string, options: Json & LimitFlags) =>
        (await import('./commands/resume.ts')).resume(id, options, io),
    }),
  ).option('--json', 'print {"id","status"}');
}

function withJobOptions(command: Command): Command {
  command
    .option('--dir <path>', 'the folder to work in (default: here)')
    .option('--name <id>', "the job's id (default: made from the prompt)")
    .option('--reuse', 'with --name of a job that exists: print its id and start nothing')
    .option('--model <model>', 'default: ANTHROPIC_MODEL, else claude-sonnet-5-5')
    .option('--permission-mode <mode>', 'default, acceptEdits, plan, dontAsk or bypassPermissions')
    .option('--allow <rule>', 'calls that run without a question; may be repeated', collect)
    .option('--ask <rule>', 'calls that always ask; may be repeated', collect)
    .option('--deny <rule>', 'calls that never run; may be repeated', collect)
    .option('--settings <file>', 'more settings: a file or JSON; stronger than those of the folder')
    .option('--append-system-prompt <text>', 'more instructions for the model')
    .option('--on-limit <what>', 'end: the job ends at a limit; ask: it waits for resume (default: end)')
    .option('--stay', 'stay open for send when the work is done');
  return withLimits(command);
}

function withLimits(command: Command): Command {
  return command
    .option('--max-turns <n>', 'turns at most, a turn being one input and its answer')
    .option('--max-steps <n>', 'steps at most, a step being one reply of the model and its calls')
    .option('--max-usd <x>', 'US dollars at most')
    .option('--deadline <when>', '30m, 8h, 2d, or a time like 2027-01-31T06:00:00Z');
}
