/** Stands for any text, also none. */
export const STAR = -1;
/** Stands for one character. */
export const ANY = -2;
/** A text with unknown places: character codes, `STAR` and `ANY`. */
export type Pattern = readonly number[];

/** Literal text as a pattern. */
export function literal(text: string): number[] {
  const pattern: number[] = [];
  for (let i = 0; i < text.length; i++) pattern.push(text.charCodeAt(i));
  return pattern;
}

/** Reads `*` as any text; `\*` and `\\` are the characters themselves. */
export function wildcard(text: string): number[] {
  const pattern: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const next = text[i + 1];
    if (text[i] === '\\' && (next === '*' || next === '\\')) pattern.push(text.charCodeAt(++i));
    else pattern.push(text[i] === '*' ? STAR : text.charCodeAt(i));
  }
  return pattern;
}

/** Whether a pattern covers the whole of a text. Time is linear in both, times the number of stars at worst. */
export function covers(pattern: Pattern, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    const want = pattern[p];
    if (want === STAR) {
      star = p++;
      mark = t;
    } else if (want !== undefined && (want === ANY || want === text.charCodeAt(t))) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === STAR) p++;
  return p === pattern.length;
}

/** Whether some text is covered by both patterns. */
export function intersects(a: Pattern, b: Pattern): boolean {
  for (let i = 0; i < a.length && i < b.length && a[i]! >= 0 && b[i]! >= 0; i++) if (a[i] !== b[i]) return false;
  return sequencesMeet(
    a,
    b,
    (x) => x === STAR,
    (x, y) => x === ANY || y === ANY || x === y,
  );
}

/** Whether two sequences, each with places that stand for any number of elements, can describe the same thing. Time is the product of their lengths. */
export function sequencesMeet<T>(
  a: readonly T[],
  b: readonly T[],
  isStar: (x: T) => boolean,
  meets: (x: T, y: T) => boolean,
): boolean {
  let row = new Uint8Array(b.length + 1);
  row[0] = 1;
  for (let j = 0; j < b.length && isStar(b[j]!); j++) row[j + 1] = 1;
  for (const x of a) {
    const next = new Uint8Array(b.length + 1);
    const star = isStar(x);
    if (star) next[0] = row[0]!;
    let alive = next[0]!;
    for (let j = 1; j <= b.length; j++) {
      if (star || isStar(b[j - 1]!)) next[j] = row[j]! | next[j - 1]!;
      else if (row[j - 1] && meets(x, b[j - 1]!)) next[j] = 1;
      alive |= next[j]!;
    }
    if (!alive) return false;
    row = next;
  }
  return row[b.length] === 1;
}
