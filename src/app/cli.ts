#!/usr/bin/env node
import { explainError } from './cli-error.ts';
import type { Io } from './io.ts';
import { runProgram } from './program.ts';

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  isTTY: process.stdout.isTTY,
  cwd: currentFolder(),
  onInterrupt(listener) {
    process.on('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
};

/** Where the command was called. A shell may stand in a folder that is gone; its name is all that is left of it. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return process.env['PWD'] || '/';
  }
}

// Whoever reads our output may stop at any time (`| head -1`), and then there is nobody left to write for.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    if (stream === process.stdout) process.stderr.write(`error: the output can't be written: ${error.message}\n`);
    process.exit(1);
  });
}

const code = await runProgram(process.argv.slice(2), io).catch((error: unknown) => {
  const { exitCode, text } = explainError(error, Boolean(process.env['NIGHTSHIFT_DEBUG']));
  process.stderr.write(`${text}\n`);
  return exitCode;
});

// A connection may still be closing; what was printed must be out before the process ends.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))));
process.exit(code);
