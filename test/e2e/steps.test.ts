import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobEvent } from '../../src/shapes/event.ts';
import type { Block, ToolResultBlock, ToolUseBlock } from '../../src/shapes/message.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

type Call = { name: string; input: Record<string, unknown> };
type Step = { text?: string; calls?: Call[] };

const dir = mkdtempSync(join(tmpdir(), 'nightshift-steps-'));
const file = (n: number): string => join(dir, 'src', `file-${n}.ts`);
const read = (n: number): Call => ({ name: 'Read', input: { file_path: file(n) } });
const bash = (command: string): Call => ({ name: 'Bash', input: { command } });

/** Forty steps of every kind, in an order that mixes batches and single calls. */
const forty: Step[] = Array.from({ length: 8 }, (_, n): Step[] => [
  { text: `Round ${n}.`, calls: [read(n), read(n + 100), { name: 'Grep', input: { pattern: `value${n}\\b` } }] },
  {
    calls: [
      { name: 'Edit', input: { file_path: file(n), old_string: `value${n};`, new_string: `worth${n};` } },
      read(n),
    ],
  },
  {
    calls: [
      bash(`echo ${n} >> ${dir}/journal.txt`),
      { name: 'Glob', input: { pattern: `src/file-${n}*.ts`, path: dir } },
      bash('git status --short'),
    ],
  },
  { calls: [{ name: 'Write', input: { file_path: join(dir, `notes/${n}.md`), content: `note ${n}\n` } }] },
  { calls: [bash(n % 2 === 0 ? 'cd src' : 'cd ..'), bash('pwd')] },
]).flat();

const fifos = Array.from({ length: 14 }, (_, n) => join(dir, `fifo-${n}`));

let r: Rig;

beforeAll(async () => {
  mkdirSync(join(dir, 'src'));
  for (let n = 0; n < 300; n++)
    writeFileSync(file(n), `export const name${n} = 'value${n}';\nconst value = value${n};\n`);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'start');
  for (const fifo of fifos) execFileSync('mkfifo', [fifo]);
  const wait: Step[] = [{ calls: fifos.map((fifo) => bash(`cat ${fifo}`)) }, { text: 'read' }];
  r = await rig({
    bodies: true,
    jobs: [
      { match: 'forty', steps: [...forty, { text: 'All forty steps are done.' }] },
      { match: 'fifos', steps: wait },
      {
        match: 'progress',
        steps: [{ calls: [bash('for i in 1 2 3; do echo tick $i; sleep 0.6; done')] }, { text: 'seen' }],
      },
    ],
  });
});

afterAll(async () => {
  await r.close();
  rmSync(dir, { recursive: true, force: true });
});

const allowAll = {
  ...RULES,
  mode: 'acceptEdits' as const,
  allow: [{ text: 'Bash', tool: 'Bash', source: { kind: 'cli' as const, base: dir } }],
};
const ofKind = <T extends Block['type']>(blocks: Block[], type: T) =>
  blocks.filter((block): block is Extract<Block, { type: T }> => block.type === type);

describe('a job of forty mixed steps on a git repository', () => {
  it('ends right, with every request accepted and every effect done once and in order', async () => {
    const id = await r.start('forty steps, please', { dir, rules: allowAll });
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect((await r.record(id)).result).toBe('All forty steps are done.');
    expect(r.refused()).toEqual([]);
    expect(readFileSync(join(dir, 'journal.txt'), 'utf8')).toBe('0\n1\n2\n3\n4\n5\n6\n7\n');
    for (let n = 0; n < 8; n++) {
      expect(readFileSync(file(n), 'utf8')).toContain(`worth${n};`);
      expect(readFileSync(join(dir, `notes/${n}.md`), 'utf8')).toBe(`note ${n}\n`);
    }

    const messages = await r.messages(id);
    for (const [i, message] of messages.entries()) {
      const uses: ToolUseBlock[] = ofKind(message.content, 'tool_use');
      if (uses.length === 0) continue;
      const answers: ToolResultBlock[] = ofKind(messages[i + 1]!.content, 'tool_result');
      expect(answers.map((answer) => answer.tool_use_id)).toEqual(uses.map((use) => use.id));
      expect(answers.filter((answer) => answer.is_error)).toEqual([]);
    }
  });

  it('hands the working directory from call to call and from step to step', async () => {
    const id = (await r.client.list()).find((job) => job.title.startsWith('forty'))!.id;
    const texts = (await r.messages(id)).flatMap((m) => ofKind(m.content, 'tool_result')).map((block) => block.content);
    const wheres = texts.filter((text) => typeof text === 'string' && (text === dir || text === join(dir, 'src')));
    expect(wheres).toEqual(Array.from({ length: 4 }, () => [join(dir, 'src'), dir]).flat());
  });
});

/** The most calls of a job that were running at one moment. */
function most(events: JobEvent[]): number {
  let running = 0;
  let top = 0;
  for (const event of events) {
    if (event.kind === 'call.started') top = Math.max(top, (running += 1));
    if (event.kind === 'call.ended') running -= 1;
  }
  return top;
}

describe('a batch', () => {
  it.each([
    { limit: 10, opened: 10 },
    { limit: 3, opened: 3 },
  ])('of fourteen runs $limit at once at most', async ({ limit, opened }) => {
    const id = await r.start(`fifos, ${limit} at once`, { dir, rules: RULES, limits: { concurrency: limit } });
    const started = new Set<number>();
    await r.event(id, 'call.started', (event) => started.add(event.index).size === opened);
    // Each write unblocks one reader, so that the next call may start.
    for (const fifo of fifos) await writeFile(fifo, 'x');
    expect(await r.settled(id)).toMatchObject({ status: 'done' });
    expect(most(r.events(id))).toBe(limit);
    expect(r.refused()).toEqual([]);
  });
});

describe('progress', () => {
  it('is seen before the result', async () => {
    const id = await r.start('progress, please', { dir, rules: allowAll });
    await r.settled(id);
    const kinds = r.events(id).map((event) => event.kind);
    expect(kinds.indexOf('call.progress')).toBeGreaterThan(kinds.indexOf('call.started'));
    expect(kinds.indexOf('call.progress')).toBeLessThan(kinds.indexOf('call.ended'));
  });
});
