// Brings the `temporal` program by the SDK's own download: `node sdk-download-main.js FOLDER VERSION`.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [downloadDir, version] = process.argv.slice(2);
if (downloadDir === undefined || version === undefined) throw new Error('usage: sdk-download-main FOLDER VERSION');
try {
  const executable = { type: 'cached-download', downloadDir, version } as const;
  const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
  await environment.teardown();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
