import type { Hosts } from '../src/core/hosts.ts';

/** Live text is for the eye: written in pieces this far apart, in milliseconds. */
const PIECE_MS = 100;

/** Gathers streamed text into pieces for watchers. */
export function liveText(
  hosts: Pick<Hosts, 'now'>,
  write: (text: string, thinking?: true) => void,
): { add: (text: string, thinking: boolean) => void; end: () => void } {
  let held = '';
  let isThinking = false;
  let last = 0;
  const end = (): void => {
    if (held !== '') write(held, isThinking ? true : undefined);
    held = '';
    last = hosts.now();
  };
  const add = (text: string, thinking: boolean): void => {
    if (thinking !== isThinking) end();
    isThinking = thinking;
    held += text;
    if (hosts.now() - last >= PIECE_MS) end();
  };
  return { add, end };
}
