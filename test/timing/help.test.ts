import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { distFile } from '../../src/app/service/dist-file.ts';

test('help costs little more than node itself', () => {
  const best = (args: string[]): number => {
    const times = Array.from({ length: 7 }, () => {
      const start = performance.now();
      expect(spawnSync(process.execPath, args).status).toBe(0);
      return performance.now() - start;
    });
    return Math.min(...times);
  };
  // Importing the client alone would make it five times as long.
  expect(best([distFile('src/app/cli.js'), '--help']) / best(['-e', '0'])).toBeLessThan(2.5);
});
