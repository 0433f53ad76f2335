import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';

/** The only address the local service ever listens on. */
export const LOOPBACK = '127.0.0.1';

/**
 * Ports are taken below the range from which the system serves outgoing connections: a client that retries a dead port of
 * that range can end up connected to itself, and the server could not come back to its port.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Where the search for a home's ports starts: a home tends to get the same ports each time. */
export function firstPort(homeId: string): number {
  return FIRST_PORT + (Number.parseInt(homeId.slice(0, 6), 16) % (LAST_PORT - FIRST_PORT));
}

/** The next `count` neighbouring ports that are free now, from `start` on; `undefined` when there are none. */
export async function freePorts(start: number, count: number): Promise<number[] | undefined> {
  const range = LAST_PORT - FIRST_PORT;
  for (let skipped = 0; skipped < range; skipped += 1) {
    const base = FIRST_PORT + ((start - FIRST_PORT + skipped) % range);
    const ports = Array.from({ length: count }, (_, i) => base + i);
    const free = await Promise.all(ports.map(isFreePort));
    if (free.every(Boolean)) return ports;
  }
  return undefined;
}

/** Whether nobody listens on the port of the loopback address. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: LOOPBACK, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Whether that very process has the port open for listening; a port that answers may be somebody else's. */
export function listensOn(pid: number, port: number): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readProc(() => readFileSync(`/proc/${pid}/net/${table}`, 'utf8'), '').split('\n')) {
      const fields = line.trim().split(/\s+/);
      const [, local, , state] = fields;
      if (state === '0A' && local?.endsWith(`:${wanted}`) === true) sockets.add(`socket:[${fields[9]}]`);
    }
  }
  if (sockets.size === 0) return false;
  const fds = readProc(() => readdirSync(`/proc/${pid}/fd`), []);
  return fds.some((fd) => sockets.has(readProc(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '')));
}

/** One JSON request to a loopback port; rejects when it is not answered with a 2xx status within the limit (ms). */
export function loopbackJson(
  port: number,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
  limit = 2000,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = request({ host: LOOPBACK, port, method, path, headers, agent: false, timeout: limit }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        if (status < 200 || status > 299)
          return reject(new Error(`${method} ${path} → ${status} ${text.slice(0, 500)}`));
        try {
          resolve(JSON.parse(text));
        } catch (error) {
          reject(new Error(`${method} ${path} answered no JSON`, { cause: error }));
        }
      });
    });
    call.on('timeout', () => call.destroy(new Error(`${method} ${path} was not answered within ${limit} ms`)));
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Processes and their files vanish while they are read. */
function readProc<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
