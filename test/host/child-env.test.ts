import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { childEnv } from '../../src/host/child-env.ts';

describe('the environment of a child', () => {
  it.each([
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'CLAUDE_API_KEY',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'AWS_BEARER_TOKEN_BEDROCK',
    'TEMPORAL_ADDRESS',
    'TEMPORAL_API_KEY',
    'NIGHTSHIFT_HOME',
    'NIGHTSHIFT_CALL',
  ])('never holds the value of %s, wherever it comes from', (name) => {
    expect(Object.values(childEnv({ [name]: 'secret' }, {}, 'm'))).not.toContain('secret');
    expect(Object.values(childEnv({}, { [name]: 'secret' }, 'm'))).not.toContain('secret');
  });

  it('hands on everything else, the job over the worker', () => {
    const env = childEnv({ PATH: '/bin', HOME: '/h', MY_ANTHROPIC_KEY: 'k', GONE: undefined }, { HOME: '/job' }, 'm');
    expect(env).toMatchObject({ PATH: '/bin', HOME: '/job', MY_ANTHROPIC_KEY: 'k' });
    expect(env).not.toHaveProperty('GONE');
  });

  it('asks nobody anything, unless the job wants it so', () => {
    const own = { PAGER: 'less', GIT_EDITOR: 'vim', TERM: 'xterm', GIT_TERMINAL_PROMPT: '1' };
    expect(childEnv(own, { PAGER: 'more' }, 'm')).toEqual({
      PAGER: 'more',
      GIT_EDITOR: 'true',
      TERM: 'dumb',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'safe.bareRepository',
      GIT_CONFIG_VALUE_0: 'explicit',
      GIT_CONFIG_KEY_1: 'core.fsmonitor',
      GIT_CONFIG_VALUE_1: 'false',
      CLAUDECODE: '1',
      NIGHTSHIFT_CALL: 'm',
    });
  });

  describe('lets git', () => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), 'child-env-')));
    afterAll(() => rmSync(top, { recursive: true, force: true }));
    const given = { PATH: process.env['PATH'], HOME: top, GIT_CONFIG_NOSYSTEM: '1' };
    const git = (cwd: string, args: string[], env: NodeJS.ProcessEnv) => spawnSync('git', args, { cwd, env });
    const watched = (folder: string, config: string): void => {
      mkdirSync(folder, { recursive: true });
      for (const name of ['objects/a', 'refs/a']) mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/m\n');
      writeFileSync(join(folder, 'config'), config);
    };

    it('take no folder for a repository that nobody named', () => {
      const bare = join(top, 'bare');
      watched(
        bare,
        `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ${bare}\nfsmonitor = "touch ${join(top, 'ran-bare')};false"\n`,
      );
      expect(git(bare, ['status'], childEnv(given, {}, 'm')).status).toBe(128);
      expect(existsSync(join(top, 'ran-bare'))).toBe(false);
      expect(git(bare, ['--git-dir=.', 'status'], childEnv(given, {}, 'm')).status).toBe(0);
      expect(existsSync(join(top, 'ran-bare'))).toBe(false);
      git(bare, ['status'], given);
      expect(existsSync(join(top, 'ran-bare'))).toBe(true);
    });

    it('start no watcher that a repository names', () => {
      const work = join(top, 'work');
      watched(join(work, '.git'), `[core]\nfsmonitor = "touch ${join(top, 'ran-work')};false"\n`);
      expect(git(work, ['status'], childEnv(given, {}, 'm')).status).toBe(0);
      expect(existsSync(join(top, 'ran-work'))).toBe(false);
      git(work, ['status'], given);
      expect(existsSync(join(top, 'ran-work'))).toBe(true);
    });

    it('keep what the environment configures otherwise', () => {
      const own = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'Night' };
      const env = childEnv({ ...given, GIT_CONFIG_COUNT: 'some' }, own, 'm');
      expect(env['GIT_CONFIG_COUNT']).toBe('3');
      for (const [key, value] of [
        ['user.name', 'Night'],
        ['core.fsmonitor', 'false'],
      ])
        expect(String(git(top, ['config', key!], env).stdout)).toBe(`${value}\n`);
    });
  });
});
