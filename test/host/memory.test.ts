import { cp, mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadMemory, type Memory, userFolders } from '../../src/host/memory.ts';

const fixture = fileURLToPath(new URL('../fixtures/instructions', import.meta.url));

let root: string;
let dir: string;
let home: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memory-'));
  dir = join(root, 'repo/pkg');
  home = join(root, 'home');
  await mkdir(dir, { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
const load = (at = dir): Promise<Memory> => loadMemory(at, userFolders({}, home));
/** Paths below the test's folder: an ancestor of the temp folder might have instructions of its own. */
const filesOf = ({ files }: Memory): string[] =>
  files.filter(({ path }) => path.startsWith(root)).map(({ path }) => path.slice(root.length + 1));

describe('loadMemory', () => {
  it('finds nothing where there is nothing', async () => {
    const memory = await load();
    expect([filesOf(memory), memory.text.includes(root), memory.warnings]).toEqual([[], false, []]);
  });

  it('goes from the user to the workspace, folder by folder, imports after their importer', async () => {
    await write('home/.claude/CLAUDE.md', 'user');
    await write('CLAUDE.md', 'top');
    await write('repo/CLAUDE.md', 'repo @docs/a.md');
    await write('repo/docs/a.md', 'imported');
    await write('repo/.claude/CLAUDE.md', 'hidden');
    await write('repo/CLAUDE.local.md', 'repo local');
    await write('repo/pkg/CLAUDE.md', 'pkg');
    await write('repo/pkg/CLAUDE.local.md', 'pkg local');
    await write('repo/pkg/sub/CLAUDE.md', 'below: not yet');
    const memory = await load();
    expect(filesOf(memory)).toEqual([
      'home/.claude/CLAUDE.md',
      'CLAUDE.md',
      'repo/CLAUDE.md',
      'repo/docs/a.md',
      'repo/.claude/CLAUDE.md',
      'repo/CLAUDE.local.md',
      'repo/pkg/CLAUDE.md',
      'repo/pkg/CLAUDE.local.md',
    ]);
    const texts = ['user', 'top', 'repo @docs/a.md', 'imported', 'hidden', 'repo local', 'pkg', 'pkg local'];
    const places = texts.map((text) => memory.text.indexOf(`:\n\n${text}`));
    expect(places.every((place, n) => place > (places[n - 1] ?? 0))).toBe(true);
    expect(memory.warnings).toEqual([]);
    expect((await load()).text).toBe(memory.text);
  });

  it('reads the documented example as it says', async () => {
    await cp(fixture, dir, { recursive: true });
    await write('home/private/notes.md', 'a secret of the user');
    const memory = await load();
    expect(filesOf(memory)).toEqual(['repo/pkg/CLAUDE.md', 'repo/pkg/docs/rules.md']);
    expect(memory.files.find(({ path }) => path.endsWith('rules.md'))!.bytes).toBe(
      (await readFile(join(fixture, 'docs/rules.md'))).length,
    );
    expect(memory.text).not.toContain('secret');
    expect(memory.warnings).toEqual([
      `${dir}/docs/rules.md imports @deep/1.md, but there is no ${dir}/docs/deep/1.md.`,
      `${dir}/CLAUDE.md imports @docs/missing.md, but there is no ${dir}/docs/missing.md.`,
      `${dir}/CLAUDE.md imports @~/private/notes.md, which lies outside of ${dir}: left out. Copy it there, or import it from ${home}/.claude/CLAUDE.md.`,
    ]);
  });

  it('lets the user import what he likes, by ~ and from the folder of CLAUDE_CONFIG_DIR', async () => {
    await write('settings/CLAUDE.md', '@~/notes.md and @more.md');
    await write('home/notes.md', 'notes');
    await write('settings/more.md', 'more');
    const memory = await loadMemory(dir, userFolders({ CLAUDE_CONFIG_DIR: join(root, 'settings') }, home));
    expect(filesOf(memory)).toEqual(['settings/CLAUDE.md', 'home/notes.md', 'settings/more.md']);
  });

  it('follows imports four deep and takes a file once', async () => {
    await write('repo/pkg/CLAUDE.md', '@1.md @1.md');
    for (const n of [1, 2, 3, 4]) await write(`repo/pkg/${n}.md`, `@${n + 1}.md @CLAUDE.md`);
    await write('repo/pkg/5.md', 'too deep');
    const memory = await load();
    expect(filesOf(memory)).toEqual(['CLAUDE', '1', '2', '3', '4'].map((name) => `repo/pkg/${name}.md`));
    expect(memory.warnings).toEqual([`${dir}/4.md imports @5.md, which is more than 4 imports deep: left out.`]);
  });

  it('lets no repository reach a file outside of it, by path or by link', async () => {
    await write('secret', 'a secret');
    await symlink(join(root, 'secret'), join(dir, 'CLAUDE.md'));
    await symlink(join(root, 'secret'), join(dir, 'inner.md'));
    await symlink(root, join(dir, 'up'));
    await write('repo/pkg/CLAUDE.local.md', `@inner.md @up/secret @../../secret @${root}/secret`);
    const memory = await load();
    expect(memory.text).not.toContain('a secret');
    expect(memory.warnings).toHaveLength(5);
    expect(memory.warnings.every((text) => text.includes('outside of') && text.includes('left out'))).toBe(true);
  });

  it('takes a link inside of the workspace, once', async () => {
    await write('repo/pkg/AGENTS.md', 'agents');
    await symlink('AGENTS.md', join(dir, 'CLAUDE.md'));
    await write('repo/pkg/CLAUDE.local.md', '@AGENTS.md');
    expect(filesOf(await load())).toEqual(['repo/pkg/CLAUDE.md', 'repo/pkg/CLAUDE.local.md']);
  });

  it('leaves out with a warning what is no readable text', async () => {
    await write('repo/pkg/CLAUDE.md', '');
    await truncate(join(dir, 'CLAUDE.md'), 4 * 1024 * 1024 + 1);
    await write('repo/pkg/.claude/CLAUDE.md', new Uint8Array([104, 0, 105]));
    await mkdir(join(dir, 'CLAUDE.local.md'));
    const memory = await load();
    expect(filesOf(memory)).toEqual([]);
    expect(memory.warnings).toEqual([
      `${dir}/CLAUDE.md is larger than 4 MiB: left out.`,
      `${dir}/.claude/CLAUDE.md is no text: left out.`,
      `${dir}/CLAUDE.local.md is no file: left out.`,
    ]);
  });

  it('gives the model clean text', async () => {
    await write('repo/pkg/CLAUDE.md', Buffer.from('\ufeffone\r\n<!-- note -->\ntwo \x1b[1mbold\x1b[0m \xff', 'utf8'));
    expect((await load()).text).toMatch(/CLAUDE\.md:\n\none\ntwo bold ÿ$/);
  });
});
