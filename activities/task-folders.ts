import { join } from 'node:path';
import { taskDir, taskOutputFile } from '../src/core/paths.ts';
import type { Files, JobFiles } from '../src/core/ports.ts';
import type { TaskFolders } from '../src/core/tool.ts';

/** A call that went on in the background has published its output: by that it is known, with no list of its own. */
export function taskFolders(files: Files, job: Pick<JobFiles, 'dir'>): TaskFolders {
  return {
    async find(id) {
      const dir = taskDir(id);
      const outputPath = join(job.dir, taskOutputFile(id));
      if (dir === undefined || (await files.stat(outputPath)) === undefined) return undefined;
      return { dir: join(job.dir, dir), outputPath };
    },
    async ids() {
      const folder = join(job.dir, taskOutputFile('x'), '..');
      if ((await files.stat(folder)) === undefined) return [];
      const names = (await files.list(folder)).filter((name) => name.endsWith('.txt'));
      return names.map((name) => name.slice(0, -'.txt'.length)).filter((id) => taskDir(id) !== undefined);
    },
  };
}
