import { createHmac } from 'node:crypto';
import type { Env } from './home.ts';

/** The variables that say which model API the worker talks to and with which credentials. */
export function modelVariables(env: Env): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[0].startsWith('ANTHROPIC_') && Boolean(entry[1]),
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether the variables hold a key or a token. */
export function hasCredentials(variables: Env): boolean {
  return Boolean(variables['ANTHROPIC_API_KEY'] || variables['ANTHROPIC_AUTH_TOKEN']);
}

/** Whether an environment names a model API or a key, and a service has others than it. */
export function namesOtherModel(service: { state: { variables: { salt: string; hash: string } } }, env: Env): boolean {
  const variables = modelVariables(env);
  if (!hasCredentials(variables) && variables['ANTHROPIC_BASE_URL'] === undefined) return false;
  return variablesHash(variables, service.state.variables.salt) !== service.state.variables.hash;
}

/** Tells whether two sets are the same without showing a value; the salt is made by each keeper anew and never stored. */
export function variablesHash(variables: Record<string, string>, salt: string): string {
  return createHmac('sha256', salt)
    .update(JSON.stringify(Object.entries(variables)))
    .digest('hex');
}
