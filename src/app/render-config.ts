import type { ConfigView } from './commands/config-show.ts';
import { type Io, print } from './io.ts';
import { paintFor } from './paint.ts';
import { oneLine } from './text.ts';

/** Prints what a job in a folder would start with, for people. */
export function printConfig(view: ConfigView, io: Io): void {
  const { dim, yellow, red, bold } = paintFor(io.isTTY, io.env);
  const mark = (counts: boolean): string => (counts ? '' : yellow('  (does not count)'));
  const section = (title: string, lines: readonly string[]): void => {
    if (lines.length > 0) print(io, [bold(title), ...lines.map((line) => `  ${line}`), ''].join('\n'));
  };
  print(io, `${view.dir}: ${view.trusted ? 'trusted' : yellow('not trusted')}\n`);
  section(
    'Settings',
    Object.entries(view.settings).flatMap(([path, { value, origin, counts, items }]) =>
      items === undefined
        ? [`${path} = ${text(value)}  ${dim(origin)}${mark(counts)}`]
        : items.map((item) => `${path}: ${text(item.value)}  ${dim(item.origin)}${mark(item.counts)}`),
    ),
  );
  section(
    'Hooks',
    view.hooks.map(
      (hook) =>
        `${hook.event} ${hook.matcher || '*'}: ${oneLine(hook.command ?? hook.url ?? '')}  ${dim(hook.origin)}${mark(hook.counts)}`,
    ),
  );
  section(
    'MCP servers',
    view.mcpServers.map(
      ({ name, type, origin, counts }) => `${oneLine(name)} (${type})  ${dim(origin)}${mark(counts)}`,
    ),
  );
  section(
    'Agents',
    view.agents.map(
      ({ name, tools, origin }) => `${oneLine(name)}: ${tools?.join(', ') ?? 'all tools'}  ${dim(origin)}`,
    ),
  );
  section(
    'Skills',
    view.skills.map(({ name, description, origin }) => `${oneLine(name)}: ${oneLine(description)}  ${dim(origin)}`),
  );
  section(
    'Instructions',
    view.memory.map(({ path, bytes }) => `${path}  ${dim(`${bytes} bytes`)}`),
  );
  section(
    'Warnings',
    view.warnings.map(({ file, line, column, text, stops }) => {
      const place = [file, line, column].filter((part) => part !== null).join(':');
      return `${stops ? red('error') : yellow('warning')} ${place}: ${oneLine(text)}`;
    }),
  );
}

function text(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}
