import { existsSync, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** Resolves with the content of a file once it is there; whoever writes it has to do so by a rename. */
export function appears(path: string): Promise<string> {
  return new Promise((found) => {
    const look = (): void => {
      if (!existsSync(path)) return;
      watcher.close();
      found(readFileSync(path, 'utf8').trim());
    };
    const watcher = watch(dirname(path), look);
    look();
  });
}

/** A command that writes its shell's pid where `appears` sees it whole. */
export const tellPid = (name: string): string => `echo $$ > ${name}.new && mv ${name}.new ${name}`;
