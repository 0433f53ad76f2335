import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBlobs } from '../src/host/blobs.ts';
import { createShell } from '../src/host/shell.ts';
import { createTranscript } from '../src/host/transcript-store.ts';
import { decide } from '../src/permissions/chain.ts';
import type { Rule, Rules } from '../src/shapes/permission.ts';
import { type Figure, spread } from './figure.ts';

/** The parts of a step by themselves. */
export async function parts(): Promise<Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'nightshift-bench-'));
  try {
    return [await append(dir), await command(dir), permission()];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function append(dir: string): Promise<Figure> {
  const transcript = createTranscript(createBlobs(join(dir, 'blobs')));
  const spans: number[] = [];
  let head: string | null = null;
  for (let n = 0; n < 200; n++) {
    const before = performance.now();
    head = await transcript.append(
      head,
      { role: 'user', content: [{ type: 'text', text: `${n} ${'x'.repeat(3_000)}` }] },
      { at: n, turn: 1, step: n },
    );
    spans.push(performance.now() - before);
  }
  return spread('transcript append of 3 KB, safe on disk', spans, '≤ 5 ms a step');
}

async function command(dir: string): Promise<Figure> {
  const shell = createShell();
  const spans: number[] = [];
  for (let n = 0; n < 20; n++) {
    const before = performance.now();
    const run = await shell.start(join(dir, `call-${n}`), {
      command: 'true',
      cwd: dir,
      env: { PATH: process.env['PATH'] ?? '' },
      timeoutMs: 10_000,
      maxBytes: 1e9,
      mark: `bench/${n}`,
    });
    await run.exit(new AbortController().signal);
    spans.push(performance.now() - before);
  }
  return spread('a command under its supervisor, start to end of `true`', spans, '≤ 30 ms');
}

function permission(): Figure {
  const rule = (text: string): Rule => ({
    text,
    tool: 'Bash',
    specifier: text.slice(5, -1),
    source: { kind: 'user', base: '/home/a' },
  });
  const many = (list: string): Rule[] => Array.from({ length: 166 }, (_, n) => rule(`Bash(${list}-${n} *)`));
  const rules: Rules = {
    deny: many('deny'),
    ask: many('ask'),
    allow: [...many('allow'), rule('Bash(npm test *)')],
    mode: 'default',
    directories: [],
    trusted: true,
    disableBypass: false,
    warnings: [],
  };
  const context = { cwd: '/work', root: '/work', home: '/home/a', resolve: (path: string) => ({ path, real: path }) };
  const spans: number[] = [];
  for (let n = 0; n < 500; n++) {
    const commandText = `cd src && npm test -- --filter ${n} | tail -3`;
    const before = performance.now();
    decide(
      { tool: 'Bash', input: { command: commandText }, traits: { access: 'bash', paths: [], command: commandText } },
      rules,
      context,
    );
    spans.push(performance.now() - before);
  }
  return spread('permission decision with 500 rules', spans, '< 1 ms median');
}
