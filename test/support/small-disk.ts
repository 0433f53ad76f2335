import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A real disk of a few bytes: a tmpfs in the mount namespace of a helper process, reached through its `/proc` root, so
 * that no rights of root are needed where user namespaces are allowed. `close` unmounts it.
 */
export async function createSmallDisk(bytes: number): Promise<{ path: string; close: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'small-disk-'));
  const script = 'mount -t tmpfs -o size="$1" none "$2" && echo ready && exec cat';
  const unshare = process.getuid?.() === 0 ? ['-m'] : ['-r', '-m'];
  const holder = spawn('unshare', [...unshare, 'sh', '-c', script, 'sh', String(bytes), dir]);
  const exit = once(holder, 'exit');
  const complaint: string[] = [];
  holder.stderr.on('data', (data: Buffer) => complaint.push(data.toString()));
  const ready = await Promise.race([once(holder.stdout, 'data').then(() => true), exit.then(() => false)]);
  if (!ready) throw new Error(`A small disk needs root or user namespaces: ${complaint.join('')}`);
  return {
    path: join('/proc', String(holder.pid), 'root', dir),
    async close() {
      holder.stdin.end();
      await exit;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
