import { clipBytes } from '../src/core/preview.ts';
import type { Hosts } from '../src/core/hosts.ts';
import type { JobFiles, OwnedCall } from '../src/core/ports.ts';
import type { Seen, Tool } from '../src/core/tool.ts';
import type { ToolInput } from '../src/shapes/call.ts';
import type { Agent } from '../src/shapes/job.ts';
import type { ToolUseBlock } from '../src/shapes/message.ts';
import type { Rules } from '../src/shapes/permission.ts';
import type { Life } from './alive.ts';
import type { TurnPlace } from './place.ts';
import type { SecondLook } from './second-look.ts';

export type CallPlace = TurnPlace & { step: number; index: number };
/** Everything one pass of a call works with. */
export type Site = {
  hosts: Hosts;
  files: JobFiles;
  agent: Agent;
  rules: Rules;
  use: ToolUseBlock;
  input: ToolInput;
  place: CallPlace;
  life: Life;
  call: OwnedCall;
  seen: Map<string, Seen>;
  /** Begun when the call is about to be decided. */
  look?: SecondLook | undefined;
};

/** A call whose tool was found and whose input that tool accepted. */
export type Checked = { tool: Tool; input: unknown; raw: Record<string, unknown> };

/** Bytes of an input that is told a second time. */
const MOST_TOLD = 2_000;

/** The input that a hook or a person put in the place of the model's own, for those who read; undefined when nobody did. An answer adds to its question and replaces nothing. */
export function replacedBy(own: Record<string, unknown>, { tool, raw }: Checked): string | undefined {
  if (tool.asks) return undefined;
  const text = JSON.stringify(raw);
  return text === JSON.stringify(own) ? undefined : clipBytes(text, MOST_TOLD);
}

/** The place as events carry it. */
export const at = ({ turn, step, index }: CallPlace): { turn: number; step: number; index: number } => ({
  turn,
  step,
  index,
});
