import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const stubs = ['rm', 'touch', 'tee', 'wr', 'cp', 'mkdir', 'npm', 'mv', 'ln', 'chmod', 'dd'];
const real = [
  'ls',
  'cat',
  'sort',
  'find',
  'sed',
  'grep',
  'wc',
  'head',
  'uniq',
  'timeout',
  'nice',
  'nohup',
  'stdbuf',
  'env',
  'xargs',
  'setsid',
  'bash',
  'sh',
  'git',
];

/** What a command did: the stub programs that ran, and whether a file appeared, vanished or changed. */
export type Deeds = { ran: string[]; changed: boolean };

/** A folder of stub programs that only log their name, and scratch folders to run commands in with nothing else in PATH. */
export function createBash() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'real-bash-')));
  const bin = join(top, 'bin');
  mkdirSync(bin);
  for (const name of stubs) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >> "$RAN"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  // The real one could set this machine's clock.
  writeFileSync(
    join(bin, 'date'),
    `#!/bin/sh\nfor a; do case "$a" in -s*|--s*|[0-9]*) echo date >> "$RAN";; esac; done\necho 1999\n`,
  );
  chmodSync(join(bin, 'date'), 0o755);
  for (const name of real) {
    const found = ['/usr/bin', '/bin'].map((dir) => join(dir, name)).find((path) => existsSync(path));
    if (!found) throw new Error(`this test needs the program ${name}`);
    symlinkSync(found, join(bin, name));
  }
  let count = 0;

  /** Runs commands one after another in one folder. `keep` says that they may change it. */
  function run(commands: readonly string[]): Deeds {
    const dir = join(top, `run-${count++}`);
    const home = join(dir, 'home');
    const work = join(dir, 'work');
    const log = join(dir, 'ran');
    layOut(work);
    mkdirSync(home);
    writeFileSync(log, '');
    const lines = commands.map((command) => `timeout 10 bash -c ${quote(command)} </dev/null >/dev/null 2>&1`);
    writeFileSync(join(dir, 'script'), `ulimit -t 5\ncd ${quote(work)}\n${lines.join('\n')}\nwait\n`);
    const before = snapshot(work);
    spawnSync('/bin/bash', [join(dir, 'script')], {
      env: { PATH: bin, HOME: home, RAN: log },
      stdio: 'ignore',
      timeout: 240_000,
      killSignal: 'SIGKILL',
    });
    const deeds = {
      ran: readFileSync(log, 'utf8').split('\n').filter(Boolean),
      changed: snapshot(work) !== before || readdirSync(home).length > 0,
    };
    // What still runs in the background may write while the folder goes.
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    return deeds;
  }

  return { run, close: () => rmSync(top, { recursive: true, force: true, maxRetries: 10 }) };
}

function layOut(work: string): void {
  mkdirSync(join(work, 'd'), { recursive: true });
  writeFileSync(join(work, 'f.txt'), 'text\nmore text\n');
  writeFileSync(join(work, 'x'), 'x\n');
  // Words to read, which no shell takes for a script: what a script file holds is not for the analysis to know.
  writeFileSync(join(work, 'data'), 'rm x \0\n');
  writeFileSync(join(work, 'd/g.txt'), 'more\n');
  // Enough for sort to want a second file.
  writeFileSync(join(work, 'big'), 'a line of text\n'.repeat(10_000));
}

function snapshot(dir: string): string {
  const names = readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return names
    .map((entry) =>
      entry.isDirectory()
        ? `${entry.name}/(${snapshot(join(dir, entry.name))})`
        : `${entry.name}=${entry.isFile() ? readFileSync(join(dir, entry.name), 'utf8') : '?'}`,
    )
    .join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
