// The keeper of a home: `node keeper-main.js SPEC`, SPEC as in keeper-spec.ts.
import { runKeeper } from './keeper.ts';
import { KeeperSpec } from './keeper-spec.ts';
import { errorText } from './service-error.ts';

const spec = KeeperSpec.parse(JSON.parse(process.argv[2] ?? 'null'));
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
process.on('SIGHUP', () => {});
const log = (line: string): void => void process.stderr.write(`${new Date().toISOString()} ${line}\n`);
try {
  process.exitCode = await runKeeper({ spec, env: process.env, log, signal: stop.signal });
} catch (error) {
  log(errorText(error));
  process.exitCode = 4;
}
