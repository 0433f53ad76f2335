import { CliError, Exit } from '../cli-error.ts';
import { type Io, tell } from '../io.ts';
import { LOCAL_SERVER, ownServer } from '../service/connection.ts';
import { currentService } from '../service/service.ts';

/** `worker`: a worker of this home in the foreground, until SIGTERM or SIGINT. */
export async function worker(io: Io): Promise<number> {
  const own = await ownServer(io.env);
  const local = own === undefined ? (await currentService(io.env))?.address : undefined;
  if (own === undefined && local === undefined) {
    throw new CliError(
      Exit.service,
      'there is no Temporal server to work for',
      'export TEMPORAL_ADDRESS=host:7233   # a server of your own\nnightshift up                       # the local service; it brings its own worker',
    );
  }
  tell(io, `working for ${own?.address ?? local}; Ctrl-C ends in order`);
  const { runWorker } = await import('../worker.ts');
  await runWorker(local === undefined ? io.env : { ...io.env, [LOCAL_SERVER]: local }, (line) => tell(io, line));
  return Exit.ok;
}
