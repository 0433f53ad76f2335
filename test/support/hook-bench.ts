import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { Hook, HookEvent } from '../../src/shapes/hook.ts';
import type { JobConfig } from '../../src/shapes/job.ts';
import type { TextBlock, ToolResultBlock } from '../../src/shapes/message.ts';
import type { Rule } from '../../src/shapes/permission.ts';
import { type Rig, RULES } from './rig.ts';

/** A workspace with hook scripts, and the job that ran in it. */
export type HookBench = {
  dir: string;
  /** A script as a hook: `body` runs in bash, and `input` is a variable that holds what it got. */
  hook(event: HookEvent, body: string, over?: Partial<Hook>): Hook;
  start(prompt: string, hooks: Hook[], over?: Partial<JobConfig>): Promise<string>;
  /** The same, until the job has ended. */
  run(prompt: string, hooks: Hook[], over?: Partial<JobConfig>): Promise<string>;
  /** Lines of a file of the workspace; none when there is no such file. */
  lines(file: string): string[];
  path(file: string): string;
};

let number = 0;

export function hookBench(r: Rig): HookBench {
  const dir = join(r.dir, `bench-${(number += 1)}`);
  mkdirSync(join(dir, '.hooks'), { recursive: true });
  let scripts = 0;
  const bench: HookBench = {
    dir,
    hook(event, body, over = {}) {
      const script = join(dir, '.hooks', `${(scripts += 1)}.sh`);
      writeFileSync(script, `#!/bin/bash\ninput=$(cat)\n${body}\n`, { mode: 0o755 });
      return { event, type: 'command', command: script, origin: 'test', ...over } as Hook;
    },
    start: (prompt, hooks, over = {}) => r.start(prompt, { dir, rules: allow('Bash'), hooks, ...over }),
    async run(prompt, hooks, over = {}) {
      const id = await bench.start(prompt, hooks, over);
      await r.settled(id);
      return id;
    },
    lines: (file) =>
      existsSync(join(dir, file)) ? readFileSync(join(dir, file), 'utf8').replace(/\n$/, '').split('\n') : [],
    path: (file) => join(dir, file),
  };
  return bench;
}

const rule = (text: string): Rule => ({
  text,
  tool: text.replace(/\(.*/s, ''),
  ...(text.includes('(') ? { specifier: text.slice(text.indexOf('(') + 1, -1) } : {}),
  source: { kind: 'user', base: '/' },
});
export const allow = (...texts: string[]): JobConfig['rules'] => ({ ...RULES, allow: texts.map(rule) });
export const deny = (text: string): JobConfig['rules'] => ({ ...RULES, deny: [rule(text)] });

/** A line of bash that prints what a hook wants to say about its event. */
export const say = (event: HookEvent, fields: object, top: object = {}): string =>
  print({ hookSpecificOutput: { hookEventName: event, ...fields }, ...top });
export const print = (json: object): string => `cat <<'JSON_END'\n${JSON.stringify(json)}\nJSON_END`;

export const resultsOf = async (r: Rig, id: string): Promise<ToolResultBlock[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result'),
  );
/** All texts of the user's side, such as reminders. */
export const textsOf = async (r: Rig, id: string): Promise<string[]> =>
  (await r.messages(id)).flatMap((message) =>
    message.role === 'user'
      ? message.content.filter((block): block is TextBlock => block.type === 'text').map((block) => block.text)
      : [],
  );
export const hookEvents = (r: Rig, id: string): Extract<JobEvent, { kind: 'hook.ended' }>[] =>
  r.events(id).filter((event) => event.kind === 'hook.ended');
