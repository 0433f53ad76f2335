import type { Command } from 'commander';
import { addCommand } from './add-command.ts';
import type { ConfigShowOptions } from './commands/config-show.ts';
import type { PermissionsCheckOptions } from './commands/permissions-check.ts';
import type { TrustOptions } from './commands/trust.ts';
import type { Io } from './io.ts';

/** The commands about what jobs may do. Each one's code is loaded when it is called. */
export function addRuleCommands(program: Command, io: Io, done: (code: number) => void): void {
  const add = addCommand(program, done);
  program.commandsGroup('Rules:');
  add({
    name: 'trust',
    args: '[dir]',
    about: "let a folder's own settings act: its allow rules, hooks, variables and MCP servers",
    more: 'It counts for the whole repository that holds the folder. Deny and ask rules always count.',
    examples: ['nightshift trust', 'nightshift trust ~/src/app', 'nightshift trust --revoke ~/src/app'],
    run: async (dir: string | undefined, options: TrustOptions) =>
      (await import('./commands/trust.ts')).trust(dir, options, io),
  })
    .option('--revoke', 'no longer')
    .option('--json', 'print {"dir","trusted"}');

  const config = program
    .command('config')
    .summary('what a job would start with')
    .description('What a job would start with: settings, hooks, servers, agents, skills, instructions.')
    .addHelpText('after', '\nExamples:\n  nightshift config show');
  addCommand(
    config,
    done,
  )({
    name: 'show',
    about: 'every setting with the file it comes from, and all that is odd; exits with 2 when no job could start',
    examples: ['nightshift config show', 'nightshift config show --dir ~/src/app --json | jq .warnings'],
    run: async (options: ConfigShowOptions) => (await import('./commands/config-show.ts')).configShow(options, io),
  })
    .option('--dir <path>', 'the folder that a job would work in (default: here)')
    .option('--settings <file>', 'as run takes it: a file or JSON')
    .option('--json', 'print an object');

  const permissions = program
    .command('permissions')
    .summary('what the rules of a folder say of a call')
    .description('What the rules of a folder say of a call.')
    .addHelpText('after', `\nExamples:\n  nightshift permissions check --tool Bash --input '{"command":"npm test"}'`);
  addCommand(
    permissions,
    done,
  )({
    name: 'check',
    about:
      'whether a call would run, be asked about or be denied, and why; nothing of it runs but its PreToolUse hooks',
    more: 'The rules of the folder are treated as trusted; its own hooks run only when it is. --jsonl reads {"id","cwd","home","tool","input"} from stdin, one per line, and answers each with one line.',
    examples: [
      `nightshift permissions check --tool Bash --input '{"command":"npm test"}'`,
      'nightshift permissions check --jsonl < calls.jsonl',
    ],
    run: async (options: PermissionsCheckOptions) =>
      (await import('./commands/permissions-check.ts')).permissionsCheck(options, io),
  })
    .option('--tool <name>', "the tool's name")
    .option('--input <json>', 'its input, as the model would write it')
    .option('--dir <path>', 'the folder that a job would work in (default: here)')
    .option('--settings <file>', 'as run takes it: a file or JSON')
    .option('--permission-mode <mode>', 'another mode than that of the settings')
    .option('--json', 'print {"behavior","reason"}')
    .option('--jsonl', 'lines in, lines out');
}
