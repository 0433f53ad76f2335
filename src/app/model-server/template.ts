import { parseExpression } from './notation.ts';

/** What a template may ask for; `step` counts from 1, `call` from 0, a missing `step` means the newest reply. */
type Source = { from: 'result'; step?: number; call: number } | { from: 'prompt' } | { from: 'n' };

type Part = string | { source: Source; match?: RegExp; written: string };

/** A text whose `{{…}}` parts are read. */
export type Template = readonly Part[];

/** What the conversation so far offers to templates. */
export interface TemplateValues {
  prompt: string;
  /** Counts from 1 inside a repeated step. */
  n: number;
  result(call: number, step?: number): string | undefined;
}

const EXPRESSION = /\{\{\s*([\w.]+)\s*(?:\|\s*match\s+\/((?:\\.|[^/\\])+)\/([a-z]*)\s*)?\}\}/y;

/** Reads a text with `{{result.0}}`, `{{step.2.result.1 | match /…/}}`, `{{prompt}}`, `{{n}}`; `\{{` stands for `{{` itself. */
export function parseTemplate(text: string): { template: Template } | { problem: string } {
  const parts: Part[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    if (text[open - 1] === '\\') {
      parts.push(text.slice(at, open - 1), '{{');
      at = open + 2;
      continue;
    }
    EXPRESSION.lastIndex = open;
    const found = EXPRESSION.exec(text);
    const written = found?.[0] ?? text.slice(open, open + 40);
    const source = found && parseSource(found[1]!);
    const match = found?.[2] === undefined ? undefined : parseExpression(found[2], found[3]!);
    if (!source || (found[2] !== undefined && !match)) {
      return {
        problem:
          `can't read the template ${JSON.stringify(written)}: write {{result.0}}, {{result.0 | match /port (\\d+)/}}, ` +
          `{{step.2.result.1}}, {{prompt}} or {{n}}, and \\{{ for two braces that are no template`,
      };
    }
    parts.push(text.slice(at, open), { source, written, ...(match && { match }) });
    at = EXPRESSION.lastIndex;
  }
  parts.push(text.slice(at));
  return { template: parts.filter((part) => part !== '') };
}

function parseSource(name: string): Source | undefined {
  if (name === 'prompt' || name === 'n') return { from: name };
  const found = /^(?:step\.([1-9]\d*)\.)?result\.(\d+)$/.exec(name);
  if (!found) return undefined;
  return { from: 'result', call: Number(found[2]), ...(found[1] && { step: Number(found[1]) }) };
}

/** The text with every template replaced, or the reason why one of them finds nothing. */
export function fillTemplate(template: Template, values: TemplateValues): { text: string } | { problem: string } {
  let text = '';
  for (const part of template) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const value = lookUp(part.source, values);
    if (value === undefined) return { problem: `${part.written} finds nothing: ${missing(part.source)}` };
    const found = part.match ? part.match.exec(value) : undefined;
    if (found === null) {
      return { problem: `${part.written} finds nothing: the text is ${JSON.stringify(value.slice(0, 200))}` };
    }
    text += found ? (found[1] ?? found[0]) : value;
  }
  return { text };
}

function lookUp(source: Source, values: TemplateValues): string | undefined {
  if (source.from === 'prompt') return values.prompt;
  if (source.from === 'n') return String(values.n);
  return values.result(source.call, source.step);
}

function missing(source: Source): string {
  if (source.from !== 'result') return 'the conversation has no prompt';
  const where = source.step === undefined ? 'the newest reply' : `the reply of step ${source.step}`;
  return `${where} has no call ${source.call} with a result (calls count from 0, steps from 1)`;
}
