import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { createBench } from './tool-io.ts';

const disk = process.argv[2];
if (disk === undefined) throw new Error('which disk?');

/** Rewrites a file with more than the disk has room for, and prints what came of it. */
const bench = createBench();
const file_path = join(disk, 'a.txt');
writeFileSync(file_path, 'old');
await bench.call(read, { file_path });
const { text, isError } = await bench.call(write, { file_path, content: 'x'.repeat(1_000_000) });
const answer = { text, isError, content: readFileSync(file_path, 'utf8'), names: readdirSync(disk) };
process.stdout.write(`${JSON.stringify(answer)}\n`);
await bench.remove();
