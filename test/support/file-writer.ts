import { createFiles } from '../../src/host/files.ts';

const path = process.argv[2];
if (path === undefined) throw new Error('which file?');

/** Writes one file again and again, says so once it is there, and never ends. */
const files = createFiles();
for (let n = 0; ; n += 1) {
  await files.write(path, 'abc'[n % 3]!.repeat(4_000_000));
  if (n === 2) process.stdout.write('writing\n');
}
