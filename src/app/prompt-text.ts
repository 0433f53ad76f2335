import type { Io } from './io.ts';
import { usageError } from './cli-error.ts';
import { cut, oneLine } from './text.ts';

/** More than the model could ever read, in bytes. */
const MOST = 32 * 1024 * 1024;

/** The prompt from the command line, or from stdin for `-` or when something is piped in. Throws a usage error for an empty one. */
export async function readPrompt(
  argument: string | undefined,
  io: Io,
  example = 'Say what is to be done: nightshift run "Fix the failing test"',
): Promise<string> {
  if (argument === undefined && io.stdin.isTTY === true) {
    throw usageError('there is no prompt', `${example}, or pipe it in.`);
  }
  const text = argument === undefined || argument === '-' ? decode(await readAll(io.stdin)) : argument;
  if (text.trim() === '') {
    throw usageError('the prompt is empty', example);
  }
  return text;
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    bytes += part.length;
    if (bytes > MOST) {
      throw usageError(
        `the prompt is larger than ${MOST / 1024 / 1024} MiB`,
        'Put the data into a file of the workspace and name the file in the prompt.',
      );
    }
    chunks.push(part);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(
      'the prompt on stdin is not valid UTF-8',
      'Convert it first, for example with: iconv -f latin1 -t utf-8',
    );
  }
}

/** What a job is called in lists: the first line of its prompt that says something, at most 80 columns. */
export function titleOf(prompt: string): string {
  const head = prompt.slice(0, 4_000);
  return cut(
    head
      .split('\n')
      .map(oneLine)
      .find((line) => line !== '') ?? 'job',
    80,
  );
}

/** A job's id from its title: a few words and four random characters. */
export function idFromTitle(title: string, random: string): string {
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f']/g, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word.slice(0, 40) : `${slug}-${word}`;
    if (longer.length > 40) break;
    slug = longer;
  }
  return `${slug === '' ? 'job' : slug}-${random}`;
}
