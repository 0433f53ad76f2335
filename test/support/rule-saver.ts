import { createFiles } from '../../src/host/files.ts';
import { saveRules } from '../../src/host/save-rules.ts';
import { takeLock } from '../../src/app/service/lock.ts';

// One of several processes that keep rules in the same settings: node rule-saver.ts DIR NAME COUNT
const [dir = '', name = '', count = '0'] = process.argv.slice(2);
for (let n = 0; n < Number(count); n += 1) {
  const saved = await saveRules(dir, [`Bash(${name} ${n}:*)`], {
    files: createFiles(),
    tryLock: async (path) => {
      const lock = await takeLock(path, () => Promise.resolve(true));
      return lock.kind === 'taken' ? lock.release : undefined;
    },
  });
  if (saved.kind !== 'saved') throw new Error(saved.why);
}
