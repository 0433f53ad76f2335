import { parseDocument } from 'yaml';
import { readText } from './read-text.ts';

/** A Markdown file with a YAML head: `head` is empty when there is none. */
export type FrontMatter =
  | { kind: 'nothing' }
  | { kind: 'read'; head: Record<string, unknown>; body: string }
  | { kind: 'refused'; line?: number; column?: number; why: string };

const MAX_BYTES = 1024 * 1024;

/** Reads a Markdown file and its head, as agents and skills have one. YAML is data here: no tags, no code. */
export async function readFrontMatter(path: string): Promise<FrontMatter> {
  const file = await readText(path, MAX_BYTES);
  if (file.kind === 'nothing') return file;
  if (file.kind === 'refused') return { kind: 'refused', why: `It ${file.why}.` };
  const text = file.text.replaceAll('\r\n', '\n');
  const match = /^---[ \t]*\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\n|$)/.exec(text);
  if (!match) return { kind: 'read', head: {}, body: text };
  const document = parseDocument(match[1] ?? '', { schema: 'core', prettyErrors: true, logLevel: 'silent' });
  const [error] = document.errors;
  if (error) {
    const [start] = error.linePos ?? [];
    const place = start === undefined ? {} : { line: start.line + 1, column: start.col };
    const [what = 'syntax error'] = error.message.split('\n');
    return {
      kind: 'refused',
      ...place,
      why: `Its head is no valid YAML: ${what.replace(/ at line \d+, column \d+:?$/, '')}.`,
    };
  }
  try {
    const head: unknown = document.toJS({ maxAliasCount: 20 }) ?? {};
    if (typeof head !== 'object' || head === null || Array.isArray(head))
      return {
        kind: 'refused',
        line: 2,
        column: 1,
        why: 'Its head must hold keys and values, such as name: reviewer.',
      };
    return { kind: 'read', head: { ...head }, body: text.slice(match[0].length) };
  } catch {
    return { kind: 'refused', why: 'Its head repeats itself without end.' };
  }
}

/** A list that may be written as one text with commas or blanks; blanks inside brackets belong to an entry. */
export function listOf(value: unknown): string[] | undefined {
  if (Array.isArray(value)) return value.filter((entry) => typeof entry === 'string');
  if (typeof value !== 'string') return undefined;
  return (value.match(/(?:[^\s,(]|\([^)]*\))+/g) ?? []).map((entry) => entry.trim());
}

/** A switch that may be written as `yes`, `on` or `1` too; `undefined` when it is none. */
export function switchOf(value: unknown): boolean | undefined {
  const text = typeof value === 'boolean' || typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  if (/^(?:true|yes|on|1)$/i.test(text)) return true;
  return /^(?:false|no|off|0)$/i.test(text) ? false : undefined;
}
