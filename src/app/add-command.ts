import type { Command } from 'commander';

/** What a command is called, what help says of it, and what runs. */
export type CommandSpec<A extends readonly unknown[]> = {
  name: string;
  /** As commander writes them: `<id>`, `[prompt]`, `[ids...]`. */
  args?: string;
  about: string;
  more?: string;
  examples: readonly string[];
  run: (...values: A) => Promise<number>;
};

/** Adds commands that all take their help from their spec and hand their exit code to `done`. */
export function addCommand(program: Command, done: (code: number) => void) {
  return <A extends readonly unknown[]>(spec: CommandSpec<A>): Command => {
    const command = program.command(spec.args === undefined ? spec.name : `${spec.name} ${spec.args}`);
    command
      .summary(spec.about)
      .description([sentence(spec.about), ...(spec.more === undefined ? [] : [spec.more])].join('\n'))
      .addHelpText('after', ['', 'Examples:', ...spec.examples.map((line) => `  ${line}`)].join('\n'))
      // The last value is the command itself, which no command needs.
      .action(async (...values: unknown[]) => done(await spec.run(...(values.slice(0, -1) as unknown as A))));
    return command;
  };
}

/** Collects an option that may be repeated. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
