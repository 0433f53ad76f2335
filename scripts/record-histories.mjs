// Runs a job of each kind and keeps its histories under test/replay/histories/<version>: once per release, and before it
// whenever a workflow changes. Histories of earlier releases stay as they are.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const options = { root, configFile: false, logLevel: 'error' };
const { module } = await runnerImport(`${root}/test/replay/record.ts`, options);
await module.record();
process.exit(0);
