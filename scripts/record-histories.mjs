// Runs a job of each kind that has no history of this version yet, or of the kinds that are named, and keeps the histories
// under test/replay/histories/<version>: before a release, and for every new kind of wait. What is there stays as it is.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const options = { root, configFile: false, logLevel: 'error' };
const { module } = await runnerImport(`${root}/test/replay/record.ts`, options);
await module.record(process.argv.slice(2));
process.exit(0);
