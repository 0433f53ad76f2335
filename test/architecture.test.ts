import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const rooms = [
  'src/shapes',
  'src/core',
  'src/permissions',
  'src/tools',
  'src/host',
  'src/app',
  'workflows',
  'activities',
] as const;
type Room = (typeof rooms)[number];

/** Which rooms a room may import at run time, and which only as types. */
const may: Record<Room, { values: Room[]; types?: Room[]; packages: RegExp; typePackages?: RegExp }> = {
  'src/shapes': { values: [], packages: /^zod$/ },
  'src/core': { values: [], types: ['src/shapes'], packages: /^$/, typePackages: /^zod$/ },
  'src/permissions': { values: ['src/core'], types: ['src/shapes'], packages: /^(unbash|ignore)$/ },
  'src/tools': {
    values: ['src/permissions', 'src/core', 'src/shapes'],
    packages: /^(zod|unbash|node:path|node:buffer)$/,
  },
  'src/host': {
    values: ['src/core', 'src/shapes'],
    packages: /^(node:.*|zod|yaml|jsonc-parser|@anthropic-ai\/sdk.*|@vscode\/ripgrep)$/,
  },
  'src/app': { values: [...rooms], packages: /.*/ },
  workflows: { values: ['src/core'], types: ['src/shapes', 'activities'], packages: /^@temporalio\/workflow$/ },
  activities: {
    values: ['src/tools', 'src/permissions', 'src/core', 'src/shapes'],
    packages: /^(@temporalio\/activity|zod|node:path)$/,
  },
};
/** Of the workflows, an app needs only the names of their doors. */
const doors = 'workflows/messages.ts';

type Import = { from: string; to: string; isType: boolean };

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'workflows', 'activities'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file));

/** Import and re-export statements, and dynamic imports; `verbatimModuleSyntax` makes `import type` exact. */
function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found: Import[] = [];
  const statement = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gms;
  for (const [, type, to] of text.matchAll(statement)) found.push({ from: file, to: to!, isType: type !== undefined });
  for (const [, to] of text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g))
    found.push({ from: file, to: to!, isType: false });
  return found;
}

const roomOf = (file: string): Room | undefined => rooms.find((room) => file.startsWith(`${room}/`));
const target = ({ from, to }: Import): string => normalize(join(dirname(from), to));
const all = files.flatMap(importsOf);

describe('the rooms', () => {
  it('are all there to be looked at', () => {
    const seen = new Set(files.map(roomOf));
    expect(rooms.filter((room) => !seen.has(room))).toEqual([]);
    expect(all.length).toBeGreaterThan(files.length);
  });

  it('import only from the rooms below them', () => {
    const wrong = all
      .filter((one) => one.to.startsWith('.'))
      .filter((one) => {
        const [from, to] = [roomOf(one.from), roomOf(target(one))];
        if (from === undefined || to === undefined || from === to) return false;
        const { values, types = [] } = may[from];
        return !(values.includes(to) || (one.isType && types.includes(to)));
      });
    expect(wrong.map((one) => `${one.from} -> ${target(one)}`)).toEqual([]);
  });

  it('import only the packages that they may', () => {
    const wrong = all
      .filter((one) => !one.to.startsWith('.'))
      .filter((one) => {
        const from = roomOf(one.from);
        if (from === undefined) return false;
        const { packages, typePackages } = may[from];
        return !(packages.test(one.to) || (one.isType && typePackages?.test(one.to)));
      });
    expect(wrong.map((one) => `${one.from} -> ${one.to}`)).toEqual([]);
  });

  it('reach workflows by the names of their doors only', () => {
    const wrong = all.filter(
      (one) =>
        roomOf(one.from) === 'src/app' && !one.isType && target(one).startsWith('workflows/') && target(one) !== doors,
    );
    expect(wrong.map((one) => `${one.from} -> ${target(one)}`)).toEqual([]);
  });

  it('have no circles', () => {
    const graph = new Map(
      files.map((file) => [
        file,
        importsOf(file)
          .filter((one) => one.to.startsWith('.') && !one.isType)
          .map(target),
      ]),
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (done.has(file) || path.includes(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });

  it('are never imported from tests', () => {
    expect(
      all
        .filter((one) => one.to.startsWith('.') && !relative('test', target(one)).startsWith('..'))
        .map((one) => one.from),
    ).toEqual([]);
  });
});

describe('the workflows', () => {
  it('bundle with nothing of the outside world', async () => {
    const logger = new DefaultLogger('ERROR');
    const { code } = await bundleWorkflowCode({ workflowsPath: join(root, 'workflows/index.ts'), logger });
    expect(code).toContain('callModel');
    expect(code.includes('ZodType')).toBe(false);
  });
});
