// Starts a command under its supervisor, says so, and stays: to be killed while the command runs.
import { start } from '../../src/host/supervisor.ts';

const [dir, mark, command] = process.argv.slice(2);
await start(dir!, {
  command: command!,
  cwd: '/',
  env: { PATH: process.env['PATH']! },
  timeoutMs: 60_000,
  maxBytes: 1e9,
  mark: mark!,
});
console.log('started');
process.stdin.resume();
