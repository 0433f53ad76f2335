import { closeSync, openSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Longest path of a unix socket in bytes, without the closing NUL. */
const LONGEST = 107;

/** A path that the socket calls accept, good until `close`. */
export interface SocketPath {
  readonly path: string;
  readonly close: () => void;
}

/**
 * The kernel takes socket paths of 107 bytes only, and homes may lie deeper: those are reached through an open descriptor
 * of their folder, so the socket stays in the home, where nobody else can put one in its place.
 */
export function socketPath(socket: string): SocketPath {
  if (Buffer.byteLength(socket) <= LONGEST) return { path: socket, close: () => {} };
  const folder = openSync(dirname(socket), 'r');
  return { path: join('/proc/self/fd', `${folder}`, basename(socket)), close: () => closeSync(folder) };
}
