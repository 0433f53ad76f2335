// A worker that only beats, for tests of the keeper: what it was started with stands in `seen.json` of its folder.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentIdentity } from '../../dist/src/host/identity.js';
import { homePaths } from '../../dist/src/app/service/home.js';
import { announceWorker, workerFolder } from '../../dist/src/app/service/worker-folder.js';

const { env } = process;
if (env.STAND_IN === 'crash') {
  process.stderr.write('the stand-in crashes as asked\n');
  process.exit(3);
}
const { workers } = homePaths(env.NIGHTSHIFT_HOME);
const stop = announceWorker(workers);
const seen = { address: env.NIGHTSHIFT_LOCAL_SERVER ?? env.TEMPORAL_ADDRESS, model: env.ANTHROPIC_MODEL ?? null };
writeFileSync(join(workerFolder(workers, currentIdentity()), 'seen.json'), JSON.stringify(seen));
const life = setInterval(() => {}, 60_000);
process.on('SIGTERM', () => {
  clearInterval(life);
  stop();
});
