import { describe, expect, it } from 'vitest';
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
      CLAUDECODE: '1',
      NIGHTSHIFT_CALL: 'm',
    });
  });
});
