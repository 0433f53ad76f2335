import type { Block, Message } from '../../shapes/message.ts';
import { currentTranscript } from '../current-transcript.ts';
import { type Io, print, printJson } from '../io.ts';
import { openKnownJob } from '../open-jobs.ts';
import { type Paint, paintFor } from '../paint.ts';
import { plain } from '../text.ts';

/** `transcript ID`: the conversation as the model would get it now. */
export async function transcript(id: string, options: { json?: boolean }, io: Io): Promise<number> {
  const jobs = await openKnownJob(io, id);
  try {
    const messages = await currentTranscript(jobs, await jobs.describe(id));
    if (options.json === true) printJson(io, messages);
    else print(io, transcriptLines(messages, paintFor(io.isTTY, io.env)).join('\n'));
    return 0;
  } finally {
    await jobs.close();
  }
}

/** Messages for people: who says it, then each block. */
export function transcriptLines(messages: readonly Message[], paint: Paint): string[] {
  return messages.flatMap((message) => [
    paint.bold(message.role),
    ...message.content.flatMap((block) => indent(blockText(block))),
    '',
  ]);
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'tool_use':
      return `→ ${block.name} ${JSON.stringify(block.input)}`;
    case 'tool_result':
      return `← ${block.is_error === true ? 'error: ' : ''}${resultText(block.content)}`;
    case 'image':
      return `[image ${block.source.media_type}]`;
    case 'thinking':
      return `[thinking] ${block.thinking}`;
    case 'redacted_thinking':
      return '[thinking, not shown]';
    // A kind of a later API.
    default:
      return JSON.stringify(block);
  }
}

function resultText(content: string | Block[]): string {
  return typeof content === 'string' ? content : content.map(blockText).join('\n');
}

function indent(text: string): string[] {
  return plain(text)
    .split('\n')
    .map((line) => `  ${line}`.trimEnd());
}
