import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../src/host/secrets.ts';

describe('the secrets of an environment', () => {
  it('are the credentials of the model, wherever they stand', () => {
    const secrets = secretsOf({
      ANTHROPIC_API_KEY: ' sk-ant-one ',
      ANTHROPIC_AUTH_TOKEN: 'token-two',
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth-three',
      AWS_BEARER_TOKEN_BEDROCK: 'aws-four',
      ANTHROPIC_BASE_URL: 'https://proxy:p%40ss@example.org/v1',
      ANTHROPIC_CUSTOM_HEADERS: 'Content-Type: application/json\nX-Api-Key: header-five\nAuthorization: Bearer six-six',
      TEMPORAL_API_KEY: 'temporal-seven',
    });
    for (const one of [
      'sk-ant-one',
      'token-two',
      'oauth-three',
      'aws-four',
      'p%40ss',
      'p@ss',
      'header-five',
      'six-six',
    ])
      expect(secrets).toContain(one);
    expect(secrets).toContain('temporal-seven');
    expect(secrets).not.toContain('application/json');
  });

  it('are not what merely sounds like one, nor what belongs to the job', () => {
    expect(
      secretsOf({ ANTHROPIC_MODEL: 'claude', TEMPORAL_TLS_CLIENT_KEY_PATH: '/etc/key.pem', GITHUB_TOKEN: 'ghp-job' }),
    ).toEqual([]);
  });
});
