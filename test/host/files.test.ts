import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFiles } from '../../src/host/files.ts';
import { runTs } from '../support/run-ts.ts';

const files = createFiles();
let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'files-')));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const at = (name: string) => join(dir, name);
/** The pid of a process that has ended. */
const deadPid = () => spawnSync('true').pid;

describe('writing a file', () => {
  it('makes missing folders, leaves nothing else behind, and takes bytes or text', async () => {
    await files.write(at('a/b/c'), 'text ü');
    expect(readFileSync(at('a/b/c'), 'utf8')).toBe('text ü');
    await files.write(at('a/b/c'), new Uint8Array([0, 255]));
    expect([...readFileSync(at('a/b/c'))]).toEqual([0, 255]);
    expect(readdirSync(at('a/b'))).toEqual(['c']);
  });

  it('replaces by rename, so that a reader sees the old or the new content', async () => {
    await files.write(at('a'), 'old');
    const before = statSync(at('a')).ino;
    await files.write(at('a'), 'new');
    expect(statSync(at('a')).ino).not.toBe(before);
  });

  it('keeps the mode and the owner of what it replaces, and gives new files the usual mode', async () => {
    writeFileSync(at('a'), 'old');
    chmodSync(at('a'), 0o4751);
    const owner = process.getuid?.() === 0 ? 12_345 : process.getuid!();
    chownSync(at('a'), owner, process.getgid!());
    chmodSync(at('a'), 0o4751);
    await files.write(at('a'), 'new');
    expect(statSync(at('a')).mode & 0o7777).toBe(0o4751);
    expect(statSync(at('a')).uid).toBe(owner);
    await files.write(at('b'), 'new');
    expect(statSync(at('b')).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  it('follows a link, also one whose target is not there yet', async () => {
    writeFileSync(at('target'), 'old');
    symlinkSync('target', at('link'));
    symlinkSync('new/target', at('dangling'));
    await files.write(at('link'), 'one');
    await files.write(at('dangling'), 'two');
    expect(readFileSync(at('target'), 'utf8')).toBe('one');
    expect(readFileSync(at('new/target'), 'utf8')).toBe('two');
    expect(lstatSync(at('link')).isSymbolicLink() && lstatSync(at('dangling')).isSymbolicLink()).toBe(true);
  });

  it('writes many files and one file at once', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => String(n));
    await Promise.all(texts.map((text) => files.write(at('same'), text)));
    expect(texts).toContain(readFileSync(at('same'), 'utf8'));
    expect(readdirSync(dir)).toEqual(['same']);
  });

  it('removes what a process that died left half written, and nothing of a living one', async () => {
    const [dead, alive] = [`.a.${deadPid()}-1.nightshift`, `.a.${process.ppid}-1.nightshift`];
    for (const name of [dead, alive, '.a.x.nightshift', '.b.1-1.nightshift']) writeFileSync(at(name), 'half');
    await files.write(at('a'), 'whole');
    expect(readdirSync(dir).sort()).toEqual([alive, '.a.x.nightshift', '.b.1-1.nightshift', 'a'].sort());
  });

  it('leaves the old content or the new one, whole, when its process is killed in the middle', async () => {
    for (let round = 0; round < 3; round += 1) {
      const writer = runTs(fileURLToPath(new URL('../support/file-writer.ts', import.meta.url)), [at('a')]);
      await writer.line();
      await writer.kill();
      const content = readFileSync(at('a'), 'utf8');
      expect(content.length).toBe(4_000_000);
      expect(new Set(content).size).toBe(1);
      await files.write(at('a'), 'mine');
      expect(readdirSync(dir)).toEqual(['a']);
    }
  });

  it('takes names as long as the file system does', async () => {
    const name = 'ü'.repeat(127);
    await files.write(at(name), 'x');
    expect(readdirSync(dir)).toEqual([name]);
  });

  it.each<[string, (path: string) => void, string]>([
    ['a folder', (path) => mkdirSync(path), 'EISDIR'],
    ['a pipe', (path) => void spawnSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]), 'EINVAL'],
    ['a circle of links', (path) => symlinkSync(path, path), 'ELOOP'],
  ])('refuses %s and leaves nothing behind', async (_, make, code) => {
    make(at('a'));
    await expect(files.write(at('a'), 'x')).rejects.toMatchObject({ code });
    expect(readdirSync(dir)).toEqual(['a']);
  });
});

describe('looking at files', () => {
  it('tells what a path is, through links', async () => {
    writeFileSync(at('file'), 'four');
    symlinkSync('file', at('link'));
    expect(await files.stat(at('link'))).toMatchObject({
      kind: 'file',
      bytes: 4,
      mode: statSync(at('file')).mode & 0o7777,
    });
    expect(await files.stat(dir)).toMatchObject({ kind: 'directory' });
    expect(await files.stat('/dev/null')).toMatchObject({ kind: 'other' });
    expect(await files.stat(at('none'))).toBeUndefined();
    expect(await files.stat(at('file/below'))).toBeUndefined();
  });

  it('lists names in order', async () => {
    for (const name of ['b', 'a', '.c']) writeFileSync(at(name), '');
    expect(await files.list(dir)).toEqual(['.c', 'a', 'b']);
  });

  it('resolves links in what exists and in the parents of what does not', () => {
    mkdirSync(at('real/sub'), { recursive: true });
    symlinkSync('real', at('link'));
    symlinkSync('../elsewhere/file', at('real/dangling'));
    expect(files.real(at('link/sub'))).toBe(at('real/sub'));
    expect(files.real(at('link/new/file'))).toBe(at('real/new/file'));
    expect(files.real(at('link/dangling'))).toBe(at('elsewhere/file'));
    expect(files.real(at('link/../link/sub/.'))).toBe(at('real/sub'));
    expect(existsSync(at('elsewhere'))).toBe(false);
  });

  it('takes as they are written what nobody can follow', async () => {
    symlinkSync('b', at('a'));
    symlinkSync('a', at('b'));
    symlinkSync('nothing/../turn', at('turn'));
    mkdirSync(at('real'));
    symlinkSync('real', at('link'));
    expect(files.real(at('a'))).toBe(at('a'));
    expect(files.real(at('a/below'))).toBe(at('a/below'));
    expect(files.real(at('turn'))).toBe(at('turn'));
    const long = 'x'.repeat(300);
    expect(files.real(at(`link/${long}/y`))).toBe(at(`real/${long}/y`));
    expect(files.real(at('link/nul\0'))).toBe(at('link/nul\0'));
    for (const path of [at('a'), at(long)]) await expect(files.stat(path)).rejects.toHaveProperty('code');
  });

  it('takes a path of any length, where its beginning tells that the rest is not there', () => {
    mkdirSync(at('real'));
    symlinkSync('real', at('link'));
    for (const n of [1_000, 3_000, 300_000]) {
      expect(files.real(at(`${'a/'.repeat(n)}f`))).toBe(at(`${'a/'.repeat(n)}f`));
      expect(files.real(at(`link/${'a/'.repeat(n)}f`))).toBe(at(`real/${'a/'.repeat(n)}f`));
      expect(files.real(at('ü'.repeat(n)))).toBe(at('ü'.repeat(n)));
    }
  });

  it('refuses a path that is there and too long to be looked at: a link in it may lead anywhere', () => {
    const name = 'd'.repeat(250);
    const deep = `cd "$1" && for n in $(seq 18); do mkdir ${name} && cd -P ${name}; done && ln -s /etc link`;
    expect(spawnSync('bash', ['-c', deep, 'bash', dir])).toMatchObject({ status: 0 });
    const path = at(`${`${name}/`.repeat(18)}link/passwd`);
    expect(() => files.real(path)).toThrow(expect.objectContaining({ code: 'ENAMETOOLONG', path }));
    symlinkSync(`${name}/`.repeat(10), at('half'));
    expect(() => files.real(at(`half/${`${name}/`.repeat(8)}link/passwd`))).toThrow(/ENAMETOOLONG/);
    spawnSync('rm', ['-r', at(name)]); // longer than what Node can remove
  });

  it('takes what lies in a closed folder as it is written', () => {
    mkdirSync(at('closed'));
    symlinkSync('/etc', at('closed/link'));
    chmodSync(dir, 0o755);
    chmodSync(at('closed'), 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534); // root may enter everything
    try {
      expect(files.real(at('closed/link/passwd'))).toBe(at('closed/link/passwd'));
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(at('closed'), 0o700);
    }
  });
});
