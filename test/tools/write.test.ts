import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { runTs } from '../support/run-ts.ts';
import { type Bench, createBench, sha256 } from '../support/tool-io.ts';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const writeFile = (name: string, content: string) => bench.call(write, { file_path: bench.path(name), content });
const onDisk = (name: string) => readFileSync(bench.path(name), 'utf8');
const refused = (text: RegExp) => ({ isError: true, claims: [], text: expect.stringMatching(text) });

describe('Write', () => {
  it('makes a new file and its folders, and says so', async () => {
    const result = await writeFile('a/b/c.txt', 'one\ntwo\n');
    expect(result.text).toBe(`Created ${bench.path('a/b/c.txt')} (2 lines, 8 B).`);
    expect(onDisk('a/b/c.txt')).toBe('one\ntwo\n');
  });

  it('claims the hashes before and after, then writes', async () => {
    writeFileSync(bench.path('a.txt'), 'old');
    await bench.call(read, { file_path: bench.path('a.txt') });
    const io = bench.io();
    let atClaim = '';
    const claim = async (fact: unknown) => {
      atClaim = onDisk('a.txt');
      expect(fact).toMatchObject({
        kind: 'file',
        path: bench.path('a.txt'),
        before: sha256('old'),
        after: sha256('new'),
      });
    };
    const result = await write.run!({ file_path: 'a.txt', content: 'new' }, { ...io, claim });
    expect(atClaim).toBe('old');
    expect(onDisk('a.txt')).toBe('new');
    expect(result.content).toBe(`Updated ${bench.path('a.txt')} (1 line, 3 B).`);
  });

  it('may rewrite what it wrote itself, and a Read after it shows the content', async () => {
    await writeFile('a.txt', 'one');
    expect((await bench.call(read, { file_path: bench.path('a.txt') })).text).toBe('     1\tone');
    expect((await writeFile('a.txt', 'two')).text).toMatch(/^Updated/);
  });

  it('writes the content as it is: CRLF, byte order mark, no added line end', async () => {
    await writeFile('a.txt', '\uFEFFa\r\nb');
    expect(readFileSync(bench.path('a.txt'))).toEqual(Buffer.from('\uFEFFa\r\nb'));
  });

  it('keeps the mode, and follows a link to its target', async () => {
    writeFileSync(bench.path('run.sh'), 'old');
    chmodSync(bench.path('run.sh'), 0o755);
    symlinkSync('run.sh', bench.path('link'));
    await bench.call(read, { file_path: bench.path('link') });
    await writeFile('link', 'new');
    expect(onDisk('run.sh')).toBe('new');
    expect(statSync(bench.path('run.sh')).mode & 0o777).toBe(0o755);
  });

  it('refuses an existing file that was not read', async () => {
    writeFileSync(bench.path('a.txt'), 'old');
    expect(await writeFile('a.txt', 'new')).toMatchObject(refused(/exists and you have not read it\. Read it first/));
    expect(onDisk('a.txt')).toBe('old');
  });

  it('refuses a file that was changed since it was read', async () => {
    writeFileSync(bench.path('a.txt'), 'old');
    await bench.call(read, { file_path: bench.path('a.txt') });
    writeFileSync(bench.path('a.txt'), 'mine');
    expect(await writeFile('a.txt', 'new')).toMatchObject(refused(/was changed since you read it\. Read it again/));
    expect(onDisk('a.txt')).toBe('mine');
  });

  it.each([
    ['only the first page', {}],
    ['a range', { offset: 2, limit: 5 }],
  ])('refuses a file of which %s was read', async (_, range) => {
    writeFileSync(bench.path('a.txt'), 'x\n'.repeat(2001));
    await bench.call(read, { file_path: bench.path('a.txt'), ...range });
    expect(await writeFile('a.txt', 'new')).toMatchObject(refused(/have read only part/));
  });

  it('says nothing of a file that was not read before the call is allowed', async () => {
    writeFileSync(bench.path('secret.txt'), 'x');
    const io = bench.io();
    expect(await write.validate!({ file_path: 'secret.txt', content: 'x' }, io)).toBeUndefined();
    expect(await write.validate!({ file_path: 'missing.txt', content: 'x' }, io)).toBeUndefined();
  });

  it('does not begin a cancelled call', async () => {
    const input = { file_path: bench.path('a.txt'), content: 'x' };
    expect(await bench.call(write, input, { signal: AbortSignal.abort() })).toMatchObject(refused(/was not changed/));
    expect(existsSync(bench.path('a.txt'))).toBe(false);
  });

  it('refuses what is no file, a name without UTF-8, and half a character', async () => {
    mkdirSync(bench.path('dir'));
    expect(await writeFile('dir', 'x')).toMatchObject(refused(/is a folder/));
    expect(await bench.call(write, { file_path: '/dev/null', content: 'x' })).toMatchObject(
      refused(/device, pipe or socket/),
    );
    expect(await writeFile('a.txt', 'x\uD83D')).toMatchObject(refused(/half of a surrogate pair/));
  });

  it('tells when a folder of the path is a file', async () => {
    writeFileSync(bench.path('file'), 'x');
    expect(await writeFile('file/a.txt', 'x')).toMatchObject({
      isError: true,
      text: expect.stringMatching(/a part of the path is a file, not a folder \((ENOTDIR|EEXIST)\)/),
    });
  });

  it('leaves the old content and no half file on a full disk, and says what is wrong', async () => {
    const unshare = ['unshare', ...(process.getuid?.() === 0 ? [] : ['-r']), '-m'];
    const mount = ['sh', '-c', 'mount -t tmpfs -o size=64k none "$1" && shift && exec "$@"', 'sh', bench.root];
    const script = fileURLToPath(new URL('../support/full-disk-writer.ts', import.meta.url));
    const writer = runTs(script, [bench.root], [...unshare, ...mount]);
    const answer = JSON.parse(await writer.line()) as {
      text: string;
      isError: boolean;
      content: string;
      names: string[];
    };
    expect(await writer.ended).toBe(0);
    expect(answer).toEqual({
      text: expect.stringMatching(/a\.txt: the disk is full; free some space first \(ENOSPC\)/),
      isError: true,
      content: 'old',
      names: ['a.txt'],
    });
  });
});
