import { isKeptBack } from './child-env.ts';

const NAMES_A_SECRET = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|COOKIE|AUTH/i;

/** What the worker knows and nobody else may: its credentials for the model, also those inside an address or a header. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const own = Object.entries(env).filter(([name]) => isKeptBack(name));
  const named = own.filter(([name]) => NAMES_A_SECRET.test(name)).map(([, value]) => value?.trim() ?? '');
  const inAddresses = own.flatMap(([, value]) => passwordOf(value?.trim() ?? ''));
  return [...named, ...inAddresses, ...headerSecrets(env['ANTHROPIC_CUSTOM_HEADERS'] ?? '')].filter(
    (secret) => secret !== '' && !secret.startsWith('/'), // a path names a secret, it is none
  );
}

function passwordOf(text: string): string[] {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || url.password === '' ? [] : [url.password, decoded(url.password)];
}

function headerSecrets(headers: string): string[] {
  return headers.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    if (colon < 0 || !NAMES_A_SECRET.test(line.slice(0, colon))) return [];
    const value = line.slice(colon + 1).trim();
    return [value, value.replace(/^(bearer|basic)\s+/i, '')];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
