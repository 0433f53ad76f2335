import { type Command, InvalidArgumentError } from 'commander';
import { addCommand } from './add-command.ts';
import type { DoctorOptions } from './commands/doctor.ts';
import type { DownOptions } from './commands/down.ts';
import type { StatusOptions } from './commands/status.ts';
import type { UpOptions } from './commands/up.ts';
import type { Io } from './io.ts';

/** The commands about the service, and those for rehearsal and inspection. Each one's code is loaded when it is called. */
export function addServiceCommands(program: Command, io: Io, done: (code: number) => void): void {
  const add = addCommand(program, done);
  program.commandsGroup('Service:');

  add({
    name: 'up',
    about: 'start the service, or give a running one this version and the model variables of this shell',
    more: 'run and start do it by themselves. Jobs that were open go on. After an update of nightshift, the open jobs are first replayed with the new version; where one does not fit, the old one works on.',
    examples: [
      'nightshift up',
      'ANTHROPIC_API_KEY=… nightshift up',
      'nightshift up --standby',
      'nightshift up --foreground',
    ],
    run: async (options: UpOptions) => (await import('./commands/up.ts')).up(options, io),
  })
    .option('--foreground', 'keep the service in this process until Ctrl-C')
    .option('--ui', "serve Temporal's own web page too")
    .option('--standby', 'keep a second worker, which takes over at once when the first one dies')
    .option('--restored', 'go on with a home that was put back from an older copy, which is refused without it')
    .option('--wait <seconds>', 'how long running jobs may take to fit a new version (default: 60)', seconds)
    .option('--json', 'print what status --json prints');

  add({
    name: 'down',
    about: 'end the service; jobs wait, and go on when it is up again',
    examples: ['nightshift down', 'nightshift down --now'],
    run: async (options: DownOptions) => (await import('./commands/down.ts')).down(options, io),
  })
    .option('--now', 'do not wait for running calls')
    .option('--json', 'print {"stopped"}');

  add({
    name: 'status',
    about: 'what runs of the service and which jobs are stuck; exits with 4 when nothing runs',
    more: 'With --json also "disk": {"freeBytes", "full"} of the home, and "stuck": the jobs that run but do not go on, as {"id", "text", "attempts", "next"}.',
    examples: ['nightshift status', 'nightshift status --json | jq .server.address'],
    run: async (options: StatusOptions) => (await import('./commands/status.ts')).status(options, io),
  }).option('--json', 'print an object');

  add({
    name: 'doctor',
    about: 'what is there, what is missing, and the command that mends it',
    examples: ['nightshift doctor'],
    run: async (options: DoctorOptions) => (await import('./commands/doctor.ts')).doctor(options, io),
  }).option('--json', 'print {"checks"}');

  add({
    name: 'worker',
    about: 'a worker of this home in the foreground, for a Temporal server of your own',
    more: 'The local service brings its own worker; this is another one, or one for TEMPORAL_ADDRESS.',
    examples: ['TEMPORAL_ADDRESS=temporal:7233 nightshift worker'],
    run: async () => (await import('./commands/worker.ts')).worker(io),
  });

  program.commandsGroup('Rehearsal:');
  add({
    name: 'model-server',
    about: 'serve a scripted model, to rehearse a job without a key and without cost',
    examples: [
      'nightshift model-server --script rehearsal.yaml',
      'nightshift model-server --script rehearsal.yaml --port 8080 --log requests.jsonl',
    ],
    run: async (options: { script: string; port?: number; log?: string }) =>
      (await import('./commands/model-server.ts')).modelServer(options),
  })
    .requiredOption('--script <file>', 'what the model answers (YAML or JSON)')
    .option('--port <n>', 'default: a free one', port)
    .option('--log <file>', 'where every request is written, one JSON object per line');

  add({
    name: 'partition',
    about: 'which calls of a reply would run together',
    more: 'Reads {"id","cwd","calls":[{"name","input"}]} from stdin, one per line, and answers each with one line.',
    examples: ['nightshift partition --jsonl < calls.jsonl'],
    run: async () => (await import('./commands/partition.ts')).partitionCommand(io),
  }).requiredOption('--jsonl', 'lines in, lines out');
}

function seconds(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= 86_400) return value;
  throw new InvalidArgumentError('it takes a number of seconds from 0 to 86400');
}

function port(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= 65_535) return value;
  throw new InvalidArgumentError('it takes a number from 0 to 65535');
}
