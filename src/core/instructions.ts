/** What is in an instruction file: its text as the model gets it, and the paths that it imports with `@`, in order. */
export type Instructions = { text: string; imports: string[] };

/** Reads an instruction file: drops HTML comments that stand as blocks, finds imports outside of code. */
export function parseInstructions(source: string): Instructions {
  const lines = withoutComments(
    source
      .replace(/^\ufeff/, '')
      .replaceAll('\r\n', '\n')
      .split('\n'),
  );
  const imports = lines.flatMap(({ text, isCode }) => (isCode ? [] : importsOf(text)));
  const text = lines.map((line) => line.text).join('\n');
  return { text: text.trim(), imports: [...new Set(imports)] };
}

type Line = { text: string; isCode: boolean };

/** Comments inside of a fence are code and stay; one that is never closed is text. */
function withoutComments(lines: readonly string[]): Line[] {
  const kept: Line[] = [];
  const lastEnd = lines.findLastIndex((line) => line.includes('-->'));
  let fence = '';
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at]!;
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1] ?? '';
    if (fence !== '') {
      if (mark.startsWith(fence) && text.trim() === mark) fence = '';
      kept.push({ text, isCode: true });
      continue;
    }
    const end = at <= lastEnd && /^ {0,3}<!--/.test(text) ? endOfComment(lines, at) : undefined;
    if (end) {
      if (end.rest.trim() !== '') kept.push({ text: end.rest.trimStart(), isCode: false });
      at = end.at;
      continue;
    }
    fence = mark;
    kept.push({ text, isCode: mark !== '' });
  }
  return kept;
}

/** Where the comment that starts in line `from` ends, and what follows it there. */
function endOfComment(lines: readonly string[], from: number): { at: number; rest: string } | undefined {
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!;
    const end = line.indexOf('-->', at === from ? line.indexOf('<!--') + 4 : 0);
    if (end >= 0) return { at, rest: line.slice(end + 3) };
  }
  return undefined;
}

/** `@path` at the start of a line or after a blank; the dot or comma that ends a sentence is none of it. */
function importsOf(line: string): string[] {
  if (!line.includes('@')) return [];
  const found = withoutCodeSpans(line).matchAll(/(?:^|\s)@((?:\\ |[^\s\\])+)/g);
  return Array.from(found, (match) => withoutPunctuation(match[1]!.replaceAll('\\ ', ' '))).filter(isPath);
}

function withoutCodeSpans(line: string): string {
  // Runs of backticks stand at the odd places; a run without an equal one after it opens nothing.
  const parts = line.split(/(`+)/);
  const last = new Map(parts.map((part, at) => [part, at]));
  let plain = '';
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!;
    const isOpening = at % 2 === 1 && last.get(part)! > at;
    plain += isOpening ? ' ' : part;
    if (isOpening) at = parts.indexOf(part, at + 1);
  }
  return plain;
}

function withoutPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && '.,;:!?)]'.includes(text[end - 1]!)) end -= 1;
  return text.slice(0, end);
}

const isPath = (text: string): boolean => /^(?:~\/|\.{0,2}\/|[A-Za-z0-9._-])/.test(text) && !text.endsWith('/');
