import { Command, CommanderError } from 'commander';
import { addJobCommands } from './program-jobs.ts';
import { addRuleCommands } from './program-rules.ts';
import { addServiceCommands } from './program-service.ts';
import { Exit } from './cli-error.ts';
import { type Io, lineWidth, tell } from './io.ts';
import { version } from './version.ts';

/** Runs one command line and returns its exit code. Usage errors are told on stderr and are 2; other errors are thrown. */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  let code: number = Exit.ok;
  const program = buildProgram(io, (result) => (code = result));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.excessArguments')
      tell(io, 'A text with spaces goes in quotes: "Fix the failing test"');
    return error.exitCode === 0 ? Exit.ok : Exit.usage;
  }
}

/** The whole command line. `done` takes the exit code of the command that ran. */
export function buildProgram(io: Io, done: (code: number) => void): Command {
  const program = new Command('nightshift')
    .description('Runs AI-agent jobs that last for hours with nobody watching, and survives whatever dies meanwhile.')
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'say what a command does, with examples')
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => Math.min(lineWidth(io.stdout), 100),
      getErrHelpWidth: () => Math.min(lineWidth(io.stderr), 100),
    })
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError('(-h says what there is)');
  addJobCommands(program, io, done);
  addRuleCommands(program, io, done);
  addServiceCommands(program, io, done);
  program.addHelpText(
    'after',
    [
      '',
      'Examples:',
      '  nightshift run "Fix the failing test"       start a job here and follow it',
      "  nightshift start --allow 'Bash(npm:*)' - < task.md",
      '  nightshift ls                               how all jobs stand',
      '  nightshift inbox                            what waits for your answer',
      '',
      'State is kept in NIGHTSHIFT_HOME (default ~/.local/state/nightshift).',
      'Exit codes: 0 done, 1 failed or no result yet, 2 usage, 3 unknown, 4 no server, 5 limit,',
      '6 cancelled or interrupted, 130 left by Ctrl-C (the job goes on).',
    ].join('\n'),
  );
  return program;
}
