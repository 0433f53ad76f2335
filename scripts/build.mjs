// Compiles to dist/, builds the workflow bundle that every worker loads, and copies the files that are not code.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlePrograms } from './bundle-programs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const final = join(root, 'dist');
// Built aside and swapped in whole: programs that run meanwhile find the old files or the new ones.
const dist = join(root, `dist.${process.pid}`);
process.on('exit', () => rmSync(dist, { recursive: true, force: true }));

const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', dist], {
  stdio: 'inherit',
  cwd: root,
});

// Files that are read at run time, kept beside the code that reads them.
for (const asset of ['src/host/supervisor.sh', 'src/app/prices.json']) {
  cpSync(join(root, asset), join(dist, asset));
}
await bundlePrograms(dist);
chmodSync(join(dist, 'src/app/cli.js'), 0o755);

const { bundleWorkflowCode } = await import('@temporalio/worker');
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error };
const { code } = await bundleWorkflowCode({ workflowsPath: join(dist, 'workflows/index.js'), logger: quiet });
writeFileSync(join(dist, 'workflow-bundle.js'), code);

const old = `${dist}.old`;
if (existsSync(final)) renameSync(final, old);
renameSync(dist, final);
rmSync(old, { recursive: true, force: true });
