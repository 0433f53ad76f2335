import { link, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, makeFolder } from './durable-file.ts';

/**
 * Gives an output file a second name, by a hard link: one file, that grows under both names. A supervisor that has not
 * opened its output yet opens the file that is made here.
 */
export async function publish(outputPath: string, path: string): Promise<void> {
  await makeFolder(dirname(path));
  const output = await open(outputPath, 'a', 0o600);
  await output.close();
  try {
    await link(outputPath, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}
