import { defineConfig } from 'vitest/config';

// `npm run bench`: one file, one process, nothing beside it.
export default defineConfig({
  test: { include: ['bench/bench.ts'], pool: 'forks', maxWorkers: 1, testTimeout: 1_800_000, hookTimeout: 120_000 },
});
