import type { Hosts, JobFiles, OwnedCall, Seen, Tool } from '../src/core/ports.ts';
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

/** The place as events carry it. */
export const at = ({ turn, step, index }: CallPlace): { turn: number; step: number; index: number } => ({
  turn,
  step,
  index,
});
