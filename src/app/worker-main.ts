import { runWorker } from './worker.ts';

const log = (line: string): void => {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
};

try {
  await runWorker(process.env, log);
  process.exit(0);
} catch (error) {
  log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
}
