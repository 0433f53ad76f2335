import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

type Service = {
  image?: string;
  build?: string;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: object;
  restart?: string;
};
const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: object;
};

describe('the compose file', () => {
  it('names only services, conditions, volumes and files that there are', () => {
    const wrong: string[] = [];
    for (const [name, service] of Object.entries(compose.services)) {
      if (!service.image && !service.build) wrong.push(`${name} has no image`);
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        const needed = compose.services[other];
        if (!needed) wrong.push(`${name} waits for ${other}`);
        if (condition === 'service_healthy' && !needed?.healthcheck) wrong.push(`${other} never tells its health`);
      }
      for (const volume of service.volumes ?? []) {
        const source = volume.split(':')[0]!;
        const isThere = source.startsWith('./')
          ? existsSync(source)
          : source.startsWith('$') || source in compose.volumes;
        if (!isThere) wrong.push(`${name} mounts ${source}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('is built from files that there are', () => {
    const copied = readFileSync('Dockerfile', 'utf8')
      .split('\n')
      .flatMap((line) => (/^COPY (?!--from)(.*) \S+$/.exec(line)?.[1] ?? '').split(' ').filter(Boolean));
    expect(copied.length).toBeGreaterThan(2);
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
    for (const script of ['deploy/keep.sh', 'deploy/schema.sh', 'deploy/namespace.sh'])
      execFileSync('sh', ['-n', script]);
  });
});

describe('the loop that keeps the service of a container up', () => {
  const bin = mkdtempSync(join(tmpdir(), 'nightshift-keep-'));
  afterAll(() => rmSync(bin, { recursive: true, force: true }));

  /** Runs the loop with a stand-in for the program; the stand-in's own text says what happens. */
  const keep = (program: string) => {
    writeFileSync(join(bin, 'nightshift'), `#!/bin/sh\n${program}\n`);
    chmodSync(join(bin, 'nightshift'), 0o755);
    const child = spawn('sh', ['deploy/keep.sh'], {
      env: { PATH: `${bin}:${process.env['PATH']}`, LOG: join(bin, 'log') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { child, end: once(child, 'exit').then(([code]) => code as number | null) };
  };

  it('starts it again when it dies, and ends when it ended in order', async () => {
    writeFileSync(join(bin, 'log'), '');
    const { end } = keep('echo "$*" >> "$LOG"; [ "$(wc -l < "$LOG")" -ge 3 ] && exit 0; kill -9 $$');
    expect(await end).toBe(0);
    expect(readFileSync(join(bin, 'log'), 'utf8')).toBe('up --foreground\n'.repeat(3));
  });

  it('does not start it again when it is gone before the stop was seen to arrive', async () => {
    // The stand-in ends the moment it is told to; the shell may reap it before it looks.
    const { child, end } = keep("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await end).toBe(0);
  });

  it('hands a stop on and waits until the service has ended in order', async () => {
    const { child, end } = keep(
      'trap \'sleep 0.3; echo ended >> "$LOG"; exit 0\' TERM; echo up; while :; do sleep 0.05; done',
    );
    writeFileSync(join(bin, 'log'), '');
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await end).toBe(0);
    expect(readFileSync(join(bin, 'log'), 'utf8')).toBe('ended\n');
  });
});
