import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**', 'test/timing/**'],
          // Most of them wait for processes: three share two cores well.
          maxWorkers: 3,
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
