import { isServiceError } from './cli-error.ts';
import type { JobClient } from './client.ts';
import type { JobInfo } from './job-info.ts';
import { troubleText } from './trouble.ts';

/** How often it is asked what holds up a job that is followed, in ms. */
const LOOK_EVERY = 2_000;

/** Says once what holds up a job, or that it is about to stop, and when it goes on, until the returned function is called. `latest`: how the job stood last. */
export function watchTrouble(
  jobs: JobClient,
  latest: () => JobInfo | undefined,
  say: (text: string) => void,
): () => void {
  let told: string | undefined;
  let isAsking = false;
  let isOver = false;

  async function look(): Promise<void> {
    const info = latest();
    if (info === undefined || isAsking) return;
    isAsking = true;
    try {
      const trouble = await jobs.trouble(info);
      const reason = trouble?.text ?? (info.why === 'interrupting' ? info.text : undefined);
      if (isOver || reason === told) return;
      told = reason;
      say(trouble ? troubleText(trouble, Date.now()) : (reason ?? 'what held it up is over; it goes on'));
    } catch (error) {
      // Whoever follows the job has heard that the server is away.
      if (!isServiceError(error)) say(`what holds up the job can't be found out: ${String(error)}`);
    } finally {
      isAsking = false;
    }
  }

  const timer = setInterval(() => void look(), LOOK_EVERY);
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}
