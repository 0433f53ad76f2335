import { defineConfig } from 'vitest/config';

const PURE = ['test/{core,permissions}/**/*.test.ts'];
/** Most tests wait for processes: four share two cores well. */
const SHARE = 4;

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        // Pure functions: they share a process, which saves more time than they take.
        test: { name: 'pure', include: PURE, isolate: false, maxWorkers: SHARE, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**', 'test/timing/**', ...PURE],
          maxWorkers: SHARE,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // What measures how long things take has the machine for itself, after all others.
        test: { name: 'timing', include: ['test/timing/**'], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
