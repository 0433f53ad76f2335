import type Anthropic from '@anthropic-ai/sdk';
import { missingKey } from './model-errors.ts';

/** How to reach the model API. `secrets`: what must never be shown. */
export type ModelAccess = { apiKey: string | null; authToken: string | null; baseUrl: string; secrets: string[] };

const OFFICIAL = 'https://api.anthropic.com';

/** Reads the variables as the SDK does: blanks around are cut off, a key goes before a token. `problem` says what to do. */
export function readAccess(env: Record<string, string | undefined>): ModelAccess | { problem: string } {
  const read = (name: string): string | null => env[name]?.trim() || null;
  const apiKey = read('ANTHROPIC_API_KEY');
  const authToken = apiKey === null ? read('ANTHROPIC_AUTH_TOKEN') : null;
  const key = apiKey ?? authToken;
  if (key === null) return { problem: missingKey };
  if (!/^[\x21-\x7e]+$/.test(key)) {
    const name = apiKey === null ? 'ANTHROPIC_AUTH_TOKEN' : 'ANTHROPIC_API_KEY';
    return {
      problem: `${name} holds blanks or signs that no key has; set it again: export ${name}=… && nightshift up`,
    };
  }
  const baseUrl = read('ANTHROPIC_BASE_URL') ?? OFFICIAL;
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return {
      problem:
        'ANTHROPIC_BASE_URL is no address that starts with https:// or http://; set it again: export ANTHROPIC_BASE_URL=… && nightshift up',
    };
  }
  const headers = (read('ANTHROPIC_CUSTOM_HEADERS') ?? '')
    .split('\n')
    .map((line) => line.slice(line.indexOf(':') + 1).trim());
  const secrets = [key, url.username, url.password, ...headers].filter((secret) => secret !== '');
  return { apiKey, authToken, baseUrl, secrets };
}

/**
 * The SDK, loaded when it is first needed: it repeats nothing, logs nothing, and follows no redirect, which could carry
 * the key to somebody else.
 */
export async function createSdkClient(access: ModelAccess, fetchFn?: typeof fetch): Promise<Anthropic> {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  return new Anthropic({
    apiKey: access.apiKey,
    authToken: access.authToken,
    baseURL: access.baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    fetchOptions: { redirect: 'manual' },
    ...(fetchFn && { fetch: fetchFn }),
  });
}
