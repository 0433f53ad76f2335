import type { ImageBlock, TextBlock } from '../shapes/message.ts';

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string;

/** What stands in the place of a secret. */
export const SCRUBBED = '[key]';
/** Shorter ones stand in ordinary texts by chance. */
const SHORTEST = 8;

/** Replaces each of these secrets wherever it stands, as it is or as JSON and addresses write it. What was re-coded otherwise is not seen. */
export function scrubber(secrets: readonly string[], shortest = SHORTEST): Scrub {
  const forms = [...new Set(secrets.filter((secret) => secret.length >= shortest).flatMap(formsOf))];
  forms.sort((a, b) => b.length - a.length); // one may hold another
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, SCRUBBED), text);
}

function formsOf(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
}

/** The content of a result without secrets; images stay as they are. */
export function scrubContent<T extends string | readonly (TextBlock | ImageBlock)[]>(content: T, scrub: Scrub): T;
export function scrubContent(
  content: string | readonly (TextBlock | ImageBlock)[],
  scrub: Scrub,
): string | readonly (TextBlock | ImageBlock)[] {
  if (typeof content === 'string') return scrub(content);
  return content.map((block) => (block.type === 'text' ? { ...block, text: scrub(block.text) } : block));
}
