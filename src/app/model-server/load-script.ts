import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import { Script } from './script.ts';

/** A script that can't be used; the message names the place and what to do. */
export class ScriptError extends Error {
  override name = 'ScriptError';
}

/** Reads and checks a script file (YAML or JSON); throws ScriptError with file, line and what to do. */
export async function loadScript(path: string): Promise<Script> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ScriptError(`${path}: can't read the script (${reason}); give the path of a YAML or JSON file`);
  }
  return parseScript(text, path);
}

/** Checks the text of a script; `file` only names it in messages. */
export function parseScript(text: string, file = 'script'): Script {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken) {
    throw new ScriptError(`${file}:${lines.linePos(broken.pos[0]).line}: not valid YAML or JSON: ${broken.message}`);
  }
  const value: unknown = toValue(document, file);
  return checkScript(value, (path) => {
    const offset = offsetOf(document, path);
    return offset === undefined ? file : `${file}:${lines.linePos(offset).line}`;
  });
}

/** Checks a script that is already a value; `where` names the place of a path in messages. */
export function checkScript(value: unknown, where: (path: PropertyKey[]) => string = () => 'script'): Script {
  const checked = Script.safeParse(value);
  if (checked.success) return checked.data;
  throw new ScriptError(checked.error.issues.map((issue) => `${where(issue.path)}: ${describe(issue)}`).join('\n'));
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ScriptError(`${file}: not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The offset of the deepest node on the path that exists. */
function offsetOf(document: Document, path: PropertyKey[]): number | undefined {
  for (let depth = path.length; depth >= 0; depth--) {
    const node: unknown = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
      return Number(node.range[0]);
    }
  }
  return undefined;
}

function describe(issue: z.core.$ZodIssue): string {
  const at = issue.path.map(String).join('.') || 'the script';
  if (issue.code === 'unrecognized_keys') {
    return `${at}: unknown ${issue.keys.length === 1 ? 'field' : 'fields'} ${issue.keys.join(', ')}; see docs/model-server.md for the fields there are`;
  }
  return `${at}: ${issue.message}`;
}
