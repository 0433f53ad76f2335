/** A text from outside made safe for a terminal: no escape sequences, no control characters but line ends and tabs. */
export function plain(text: string): string {
  return text.replace(ESCAPES, '').replaceAll('\r\n', '\n').replace(CONTROLS, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, ' ').trim();
}

/** Columns that a text takes on a terminal. */
export function columns(text: string): number {
  if (ASCII.test(text)) return text.length;
  return letters(text).reduce((sum, letter) => sum + letterColumns(letter), 0);
}

/** At most `width` columns; what is cut is shown by `…`. */
export function cut(text: string, width: number): string {
  if (columns(text) <= width) return text;
  let shown = '';
  let room = width - 1;
  for (const letter of letters(text)) {
    room -= letterColumns(letter);
    if (room < 0) break;
    shown += letter;
  }
  return `${shown}…`;
}

/** A text filled up with spaces. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columns(text)));
}

/** Columns that the left part of a line keeps, however narrow the line is. */
const LEAST_LEFT = 18;

/** Left and right on one line of `width` columns; the left part gives way first. */
export function spread(left: string, right: string, width: number): string {
  if (right === '') return cut(left, width);
  const end = cut(right, Math.max(1, width - LEAST_LEFT - 2));
  const room = Math.max(1, width - columns(end) - 2);
  return `${pad(cut(left, room), room)}  ${end}`;
}

/** A span of time for people: `0.4s`, `12s`, `3m05s`, `2h07m`, `3d04h`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m${two(whole % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h${two(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

/** Micro-dollars for people; small sums keep enough digits to be told from nothing. */
export function dollars(micros: number): string {
  if (micros === 0) return '$0';
  return `$${(micros / 1_000_000).toFixed(micros < 1_000_000 ? 4 : 2)}`;
}

/** Bytes for people. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kilo = bytes / 1024;
  return kilo < 1024 ? `${kilo.toFixed(1)} KB` : `${(kilo / 1024).toFixed(1)} MB`;
}

/** When something will be: the time of day, with the date when it is not today. Local time. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const sameDay = date.toDateString() === new Date(now).toDateString();
  return sameDay ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** A word for how many: `1 step`, `3 steps`. */
export function many(count: number, word: string, words = `${word}s`): string {
  return `${count} ${count === 1 ? word : words}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** What a reader takes for one character. */
function letters(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function letterColumns(letter: string): number {
  return WIDE.test(letter) ? 2 : 1;
}

const ASCII = /^[\x20-\x7e]*$/;
// East Asian wide characters and pictures.
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

// CSI and OSC sequences as a whole, other escapes with the character after them.
const ESCAPES = new RegExp(
  ['\\u001b\\[[0-?]*[ -/]*[@-~]', '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)', '\\u001b.?'].join('|'),
  'g',
);
// Line ends and tabs stay. Marks that turn the direction of writing could show another command than the one that runs.
const CONTROLS = /(?![\n\t])[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
