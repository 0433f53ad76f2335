import type { ImageBlock, TextBlock } from '../shapes/message.ts';
import { checkImage } from './image.ts';
import { emptyText, isEmptyContent } from './preview.ts';

const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
const CSI = String.fromCharCode(0x9b);
const BACKSPACE = String.fromCharCode(0x08);

/** Escape sequences of terminals: titles and other strings, then colours and cursor moves, then the short ones. */
const ESCAPES = new RegExp(
  [
    `${ESC}\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)`,
    `${ESC}[PX^_][^${ESC}]*${ESC}\\\\`,
    `(?:${ESC}\\[|${CSI})[0-?]*[ -/]*[@-~]`,
    `${ESC}[ -/]*[0-~]`,
  ].join('|'),
  'g',
);
const OVERSTRUCK = new RegExp(`[^\\n${BACKSPACE}]${BACKSPACE}`, 'g');
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/**
 * Text as a request may hold it: no lone surrogates, no control characters but tab and line end, and what a terminal
 * would show of colours, cursor moves and progress lines. Cleaning twice is cleaning once.
 */
export function cleanText(text: string): string {
  const shown = text.replace(ESCAPES, '').replace(OVERSTRUCK, '');
  return lastDrawn(shown).replace(CONTROLS, '').replace(LONE_SURROGATES, '\ufffd');
}

/**
 * The content of a result as the API accepts it, never empty: texts are cleaned, an image that would be refused becomes
 * a text that says why. `tool` is named when there is nothing else to say.
 */
export function cleanContent(content: string, tool: string): string;
export function cleanContent(
  content: string | readonly (TextBlock | ImageBlock)[],
  tool: string,
): string | (TextBlock | ImageBlock)[];
export function cleanContent(
  content: string | readonly (TextBlock | ImageBlock)[],
  tool: string,
): string | (TextBlock | ImageBlock)[] {
  const cleaned = typeof content === 'string' ? cleanText(content) : content.map(cleanBlock).filter(saysSomething);
  return isEmptyContent(cleaned) ? emptyText(tool) : cleaned;
}

function cleanBlock(block: TextBlock | ImageBlock): TextBlock | ImageBlock {
  if (block.type === 'text') return { type: 'text', text: cleanText(block.text) };
  const checked = checkImage(block);
  return 'ok' in checked ? checked.ok : { type: 'text', text: `[An image was left out: ${checked.refused}.]` };
}

const saysSomething = (block: TextBlock | ImageBlock): boolean => block.type !== 'text' || block.text.trim() !== '';

/** A line that was drawn again and again after a carriage return counts as drawn last. */
function lastDrawn(text: string): string {
  if (!text.includes('\r')) return text;
  // With no line feed at all, carriage returns are the line ends of an old file: each line counts.
  if (!text.includes('\n')) return text.replaceAll('\r', '\n');
  return text.split('\n').map(lastOfLine).join('\n');
}

function lastOfLine(line: string): string {
  return line.includes('\r') ? (line.split('\r').findLast((drawn) => drawn.trim() !== '') ?? '') : line;
}
