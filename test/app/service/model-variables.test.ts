import { expect, test } from 'vitest';
import { modelVariables, namesOtherModel, variablesHash } from '../../../src/app/service/model-variables.ts';

const given = { ANTHROPIC_API_KEY: 'a', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' };
const service = { state: { variables: { salt: 's', hash: variablesHash(modelVariables(given), 's') } } };

test.each([
  ['the same variables', given, false],
  ['another address', { ...given, ANTHROPIC_BASE_URL: 'http://127.0.0.1:2' }, true],
  ['another key', { ...given, ANTHROPIC_API_KEY: 'b' }, true],
  ['an address alone', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:2' }, true],
  ['no variables', {}, false],
  ['a model alone', { ANTHROPIC_MODEL: 'opus' }, false],
])('a shell with %s asks for another model API than the service: %#', (_what, env, other) => {
  expect(namesOtherModel(service, env)).toBe(other);
});
