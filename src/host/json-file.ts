import { type Node, type ParseError, findNodeAtLocation, parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import type { ConfigProblem } from '../shapes/settings.ts';
import { readText } from './read-text.ts';

/** Where in a value: keys and indexes from the root. */
export type JsonPath = readonly (string | number)[];
/** A file that holds one JSON object. `at` finds the line and column of a part, or of the part that ought to hold it. */
export type JsonFile =
  | { kind: 'nothing' }
  | { kind: 'broken'; problem: ConfigProblem }
  | { kind: 'read'; value: JsonObject; warnings: ConfigProblem[]; at: (path: JsonPath) => Place };
export type JsonObject = Record<string, unknown>;
/** Both count from 1. */
export type Place = { line: number; column: number };

const MAX_BYTES = 2 * 1024 * 1024;
/** Nobody reads more, and each one is looked up in the text. */
const MOST_WARNINGS = 50;

/**
 * Reads a JSON object from a file as people write them: comments, trailing commas, a byte order mark and repeated keys
 * are taken with a warning. Anything else that is wrong breaks the file as a whole; no half of one is ever used.
 */
export async function readJsonFile(path: string, { maxBytes = MAX_BYTES, once = nowhere } = {}): Promise<JsonFile> {
  const file = await readText(path, maxBytes);
  if (file.kind === 'nothing') return file;
  if (file.kind === 'refused') return broken(path, `${file.why}. Mend it or take it away`);
  const parsed = parseJson(file.text, path, once);
  if (parsed.kind !== 'read' || !file.bom) return parsed;
  const bom = { line: 1, column: 1, text: 'It begins with a byte order mark, which other readers may refuse.' };
  return { ...parsed, warnings: [{ file: path, stops: false, ...bom }, ...parsed.warnings] };
}

/** Whether a key that stands twice at a path is no slip to pass over, because what the first one says would be lost. */
export type Once = (path: JsonPath) => boolean;
const nowhere: Once = () => false;

/** The same for a text; `file` names it in what is said about it. `once`: where a repeated key is a problem that stops. */
export function parseJson(text: string, file: string, once = nowhere): JsonFile {
  if (text.trim() === '') return broken(file, 'is empty. Write {} or take it away');
  const errors: ParseError[] = [];
  let tree: Node | undefined;
  const warnings: ConfigProblem[] = [];
  const warn = (offset: number, what: string, stops = false): void => {
    const isNews = stops && !warnings.some((warning) => warning.stops);
    if (isNews || warnings.length < MOST_WARNINGS) warnings.push({ file, ...placeOf(text, offset), text: what, stops });
  };
  try {
    tree = parseTree(text, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error)
      return broken(
        file,
        `is no valid JSON: ${WRONG[printParseErrorCode(error.error)] ?? 'syntax error'}. Mend it there`,
        placeOf(text, error.offset),
      );
    if (tree?.type !== 'object') return broken(file, 'must hold one JSON object: { … }', { line: 1, column: 1 });
    leniences(text, warn);
    return {
      kind: 'read',
      value: valueOf(tree, [], { warn, once }) as JsonObject,
      warnings,
      at: (path) => placeOf(text, nearest(tree!, path)),
    };
  } catch (error) {
    if (error instanceof RangeError) return broken(file, 'is nested too deeply. Make it flatter');
    throw error;
  }
}

/** Says once where comments and trailing commas begin. */
function leniences(text: string, warn: (offset: number, what: string) => void): void {
  let comment: number | undefined;
  let comma: number | undefined;
  let last: number | undefined;
  const end = (): void => void (comma ??= last);
  const other = (): void => void (last = undefined);
  visit(
    text,
    {
      onComment: (offset) => void (comment ??= offset),
      onSeparator: (character, offset) => void (last = character === ',' ? offset : undefined),
      onObjectBegin: other,
      onArrayBegin: other,
      onObjectProperty: other,
      onLiteralValue: other,
      onObjectEnd: () => (end(), other()),
      onArrayEnd: () => (end(), other()),
    },
    { allowTrailingComma: true },
  );
  if (comment !== undefined)
    warn(comment, 'It holds comments: nightshift passes over them, other readers may refuse the file.');
  if (comma !== undefined)
    warn(comma, 'It holds a trailing comma: nightshift takes it, other readers may refuse the file.');
}

type Watch = { warn: (offset: number, what: string, stops?: boolean) => void; once: Once };

function valueOf(node: Node, path: JsonPath, watch: Watch): unknown {
  if (node.type === 'array') return (node.children ?? []).map((child, i) => valueOf(child, [...path, i], watch));
  if (node.type !== 'object') return node.value;
  const { warn, once } = watch;
  const value: JsonObject = {};
  const seen = new Set<string>();
  for (const property of node.children ?? []) {
    const [key, child] = property.children ?? [];
    const name = String(key?.value);
    const inside = [...path, name];
    const stops = seen.has(name) && once(inside);
    if (seen.has(name))
      warn(
        property.offset,
        `The key ${pathText(inside)} stands here once more${stops ? '' : ': only the last one counts'}. Put them together.`,
        stops,
      );
    seen.add(name);
    if (name === '__proto__') warn(property.offset, `The key ${pathText(inside)} is left out.`);
    else if (child) value[name] = valueOf(child, inside, watch);
  }
  return value;
}

/** The offset of a part; of one that is not there, that of what ought to hold it. */
function nearest(root: Node, path: JsonPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(root, path.slice(0, length));
    if (node) return node.parent?.type === 'property' ? node.parent.offset : node.offset;
  }
  return root.offset;
}

function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - (before.lastIndexOf('\n') + 1) + 1 };
}

/** A path as people write it: `permissions.deny[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w$-]+$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

function broken(file: string, text: string, place?: Place): JsonFile {
  return { kind: 'broken', problem: { file, ...place, text: `It ${text}.`, stops: true } };
}

const WRONG: Readonly<Record<string, string>> = {
  InvalidSymbol: 'there is a word that JSON does not know',
  InvalidNumberFormat: 'a number is malformed',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  EndOfFileExpected: 'something stands behind its end',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a string is not closed',
  UnexpectedEndOfNumber: 'a number is malformed',
  InvalidUnicode: 'a \\u escape is malformed',
  InvalidEscapeCharacter: 'a string holds an escape that JSON does not know',
  InvalidCharacter: 'a string holds a control character',
};
