/** How a replacement went: `at` and `end` are where the first one stands in the new text. */
export type Replaced =
  | { kind: 'missing' }
  | { kind: 'ambiguous'; count: number }
  | { kind: 'done'; text: string; count: number; at: number; end: number };

/**
 * Replaces `from` by `to`: where it occurs once, or everywhere with `all`. In a text with CRLF line ends `\n` matches
 * them too, and the replacement gets the line ends of what it replaces; every other character stays as it is.
 */
export function replaceText(text: string, from: string, to: string, all: boolean): Replaced {
  const hasCrlf = text.includes('\r\n');
  const flat = hasCrlf ? flatten(text) : text;
  const wanted = hasCrlf ? flatten(from) : from;
  const starts = placesOf(flat, wanted, all);
  if (starts.length === 0) return { kind: 'missing' };
  if (starts.length > 1 && !all) return { kind: 'ambiguous', count: starts.length };

  const original = hasCrlf ? originalOffsets(text) : (flatOffset: number) => flatOffset;
  const parts: string[] = [];
  let done = 0;
  for (const start of starts) {
    const begin = original(start);
    const end = original(start + wanted.length);
    parts.push(text.slice(done, begin), hasCrlf ? withLineEnds(to, text, begin, end) : to);
    done = end;
  }
  parts.push(text.slice(done));
  const at = parts[0]!.length;
  return { kind: 'done', text: parts.join(''), count: starts.length, at, end: at + parts[1]!.length };
}

function flatten(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Where `wanted` begins: without overlaps for a replacement everywhere, else all places that could be meant. */
function placesOf(text: string, wanted: string, all: boolean): number[] {
  const starts: number[] = [];
  const step = all ? wanted.length : 1;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + step)) starts.push(at);
  return starts;
}

/** Offset in `text` of an offset in its flattened form; must be asked in ascending order. */
function originalOffsets(text: string): (flatOffset: number) => number {
  let removed = 0;
  let next = text.indexOf('\r\n');
  return (flatOffset) => {
    while (next !== -1 && next - removed < flatOffset) {
      removed += 1;
      next = text.indexOf('\r\n', next + 2);
    }
    return flatOffset + removed;
  };
}

/** The replacement in the line ends of what it replaces; where that has none, in those that most of the file has. */
function withLineEnds(to: string, text: string, begin: number, end: number): string {
  const replaced = text.slice(begin, end);
  const sample = replaced.includes('\n') ? replaced : text;
  const crlf = sample.split('\r\n').length - 1;
  const all = sample.split('\n').length - 1;
  return flatten(to).replaceAll('\n', crlf * 2 > all ? '\r\n' : '\n');
}
