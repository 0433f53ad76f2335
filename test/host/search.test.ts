import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSearch } from '../../src/host/search.ts';
import { statOf } from '../../src/host/identity.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'search-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const search = createSearch(rgPath);
const options = (more = {}) => ({
  cwd: dir,
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  maxBytes: 1_000_000,
  ...more,
});
/** A program in place of ripgrep that never ends by itself and writes its pid. */
function endless(): { path: string; started: Promise<number> } {
  const path = join(dir, 'endless');
  const pidFile = join(dir, 'pid');
  writeFileSync(
    path,
    `#!/bin/sh\necho one\nprintf half\necho $$ > ${pidFile}.new && mv ${pidFile}.new ${pidFile}\nexec sleep 1000\n`,
  );
  chmodSync(path, 0o755);
  const changes = watch(dir);
  const started = (async () => {
    for await (const change of changes) if (change.filename === 'pid') return Number(readFileSync(pidFile, 'utf8'));
    throw new Error('not started');
  })();
  return { path, started };
}

describe('a search', () => {
  it('returns the lines and the exit code', async () => {
    writeFileSync(join(dir, 'a.txt'), 'one\ntwo ü\n');
    expect(await search.rg(['--no-filename', 'o', '.'], options())).toEqual({
      code: 0,
      lines: ['one', 'two ü'],
      stderr: '',
      truncated: false,
      timedOut: false,
    });
    expect(await search.rg(['nothing', '.'], options())).toMatchObject({ code: 1, lines: [] });
  });

  it('hands on what ripgrep says is wrong', async () => {
    const result = await search.rg(['(', '.'], options());
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('regex parse error');
  });

  it('reads no configuration file', async () => {
    writeFileSync(join(dir, '.ripgreprc'), '--replace=changed\n');
    writeFileSync(join(dir, 'a.txt'), 'one\n');
    const before = process.env['RIPGREP_CONFIG_PATH'];
    process.env['RIPGREP_CONFIG_PATH'] = join(dir, '.ripgreprc');
    try {
      expect((await search.rg(['--no-filename', 'one', '.'], options())).lines).toEqual(['one']);
    } finally {
      if (before === undefined) delete process.env['RIPGREP_CONFIG_PATH'];
      else process.env['RIPGREP_CONFIG_PATH'] = before;
    }
  });

  it('stops at its size limit with whole lines', async () => {
    writeFileSync(join(dir, 'a.txt'), 'line\n'.repeat(100_000));
    const result = await search.rg(['--no-filename', 'line', '.'], options({ maxBytes: 1_003 }));
    expect(result.truncated).toBe(true);
    expect(result.lines).toEqual(Array.from({ length: 200 }, () => 'line'));
  });

  it('stops at its time limit and gives what it has', async () => {
    const { path, started } = endless();
    const running = createSearch(path).rg([], options({ timeoutMs: 3_000 }));
    const pid = await started;
    expect(await running).toMatchObject({ code: null, timedOut: true, lines: ['one'] });
    expect(statOf(pid)).toBeUndefined();
  });

  it('is killed when it is not wanted any more', async () => {
    const { path, started } = endless();
    const controller = new AbortController();
    const running = createSearch(path).rg([], options({ signal: controller.signal }));
    const pid = await started;
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(statOf(pid)).toBeUndefined();
    await expect(search.rg(['x'], options({ signal: controller.signal }))).rejects.toThrow('enough');
  });

  it('runs no program that is merely found somewhere', async () => {
    expect(() => createSearch('rg')).toThrow('must be absolute');
    await expect(createSearch('/no/such/rg').rg([], options())).rejects.toThrow(
      /ripgrep can't be started in .*ENOENT.*Is \/no\/such\/rg there/,
    );
  });
});
