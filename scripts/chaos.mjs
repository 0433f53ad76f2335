// Runs the chaos suite from its TypeScript sources, on the compiled programs of dist/. See test/chaos/main.ts.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { module } = await runnerImport(join(root, 'test/chaos/main.ts'), { root, configFile: false, logLevel: 'error' });
process.exit(await module.main(process.argv.slice(2)));
