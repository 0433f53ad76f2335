import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOutput, readTail } from '../../src/host/read-output.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'read-output-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function file(content: string | Uint8Array): Promise<string> {
  const path = join(dir, 'output');
  await writeFile(path, content);
  return path;
}

describe('reading output', () => {
  it('reads all of what fits, and nothing of what is not there', async () => {
    const path = await file('żółw\n');
    expect(await readOutput(path, { headBytes: 8, tailBytes: 0 })).toEqual({ head: 'żółw\n', tail: '', bytes: 8 });
    expect(await readOutput(join(dir, 'none'), { headBytes: 8, tailBytes: 8 })).toEqual({
      head: '',
      tail: '',
      bytes: 0,
      missing: true,
    });
    expect(await readTail(join(dir, 'none'), 8)).toEqual({ tail: '', bytes: 0 });
  });

  it('cuts between characters, wherever the limit falls', async () => {
    const path = await file('🌙é€x🌙é€');
    const bytes = 19;
    for (let head = 0; head < bytes; head++) {
      for (let tail = 0; head + tail < bytes; tail++) {
        const read = await readOutput(path, { headBytes: head, tailBytes: tail });
        expect('🌙é€x🌙é€'.startsWith(read.head) && '🌙é€x🌙é€'.endsWith(read.tail)).toBe(true);
        expect(head - Buffer.byteLength(read.head)).toBeLessThan(4);
        expect(tail - Buffer.byteLength(read.tail)).toBeLessThan(4);
      }
    }
    expect((await readTail(path, 4)).tail).toBe('€');
    await writeFile(path, Buffer.from('ab🌙').subarray(0, 5));
    expect((await readTail(path, 100)).tail).toBe('ab');
  });

  it('replaces what is no UTF-8', async () => {
    const path = await file(Buffer.from([0x61, 0xff, 0x80, 0x80, 0x80, 0x80, 0x62, 0xc3]));
    expect((await readOutput(path, { headBytes: 100, tailBytes: 0 })).head).toBe(
      'a\ufffd\ufffd\ufffd\ufffd\ufffdb\ufffd',
    );
    expect((await readOutput(path, { headBytes: 2, tailBytes: 2 })).head).toBe('a\ufffd');
  });

  it('reads only the ends of a file of 3 GB', async () => {
    const path = join(dir, 'large');
    const large = await open(path, 'w');
    await large.write('start', 0);
    await large.write('end', 3e9);
    await large.close();
    const before = process.memoryUsage().arrayBuffers;
    const read = await readOutput(path, { headBytes: 5, tailBytes: 3 });
    expect(read).toEqual({ head: 'start', tail: 'end', bytes: 3_000_000_003 });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6);
  });
});
