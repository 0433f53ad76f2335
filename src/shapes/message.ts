import type { Micros, Sha } from './ids.ts';

/** Content blocks as the Messages API knows them; unknown kinds are kept byte for byte. */
export type TextBlock = { type: 'text'; text: string };
export type ImageBlock = { type: 'image'; source: { type: 'base64'; media_type: string; data: string } };
export type ToolUseBlock = { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };
export type ToolResultBlock = {
  type: 'tool_result';
  tool_use_id: string;
  content: string | (TextBlock | ImageBlock)[];
  is_error?: boolean;
};
export type ThinkingBlock = { type: 'thinking'; thinking: string; signature: string };
export type RedactedThinkingBlock = { type: 'redacted_thinking'; data: string };
export type Block = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | RedactedThinkingBlock;

export type Message = { role: 'user' | 'assistant'; content: Block[] };

/** Tokens of one reply as the API counts them: `input` excludes what was read from or written to the prompt cache. */
export type Usage = { input: number; output: number; cacheRead: number; cacheWrite5m: number; cacheWrite1h: number };

/** What is known of a node beside its message. Times come from the workflow, so that a retried append is byte-equal. */
export type NodeMeta = {
  /** Milliseconds since the epoch, from the workflow's clock. */
  at: number;
  turn: number;
  step: number;
  /** Ids of the notes that this node carries. */
  notes?: string[];
  model?: string;
  usage?: Usage;
  spent?: Micros;
  stop?: string;
};

/** One link of the transcript: immutable, content-addressed, its parent's hash inside. */
export type TranscriptNode = { parent: Sha | null; message: Message; meta: NodeMeta };
