import { programName } from './bash-analysis.ts';
import { hiddenIn, type Hidden } from './bash-runners.ts';
import type { BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** What a command hides behind its own name. `layers`: itself, then what is left after each transparent wrapper. */
export type Unwrapped = Hidden & { layers: readonly Words[] };

/** Wrappers that change nothing about a command but how it runs: their options, and how many words stand before the command. */
const transparent: ReadonlyMap<string, { valued: RegExp; plain: RegExp; operands: number }> = new Map([
  [
    'timeout',
    {
      valued: /^(?:-[ks]|--kill-after|--signal)$/,
      plain: /^(?:-[ks].+|--(?:kill-after|signal)=.+|--preserve-status|--foreground|-v|--verbose)$/,
      operands: 1,
    },
  ],
  ['nice', { valued: /^(?:-n|--adjustment)$/, plain: /^(?:-n?[-+]?\d+|--adjustment=.+)$/, operands: 0 }],
  [
    'stdbuf',
    {
      valued: /^(?:-[ioe]|--input|--output|--error)$/,
      plain: /^(?:-[ioe].+|--(?:input|output|error)=.+)$/,
      operands: 0,
    },
  ],
  ['time', { valued: /^$/, plain: /^-p$/, operands: 0 }],
  ['nohup', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['command', { valued: /^$/, plain: /^-p$/, operands: 0 }],
  ['builtin', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['noglob', { valued: /^$/, plain: /^$/, operands: 0 }],
  ['xargs', { valued: /^$/, plain: /^$/, operands: 0 }],
]);

/** Wrappers that are taken off; a command with more is not understood. */
const mostLayers = 20;

/** Looks behind wrappers, runners and inner shells. */
export function unwrap(words: Words): Unwrapped {
  const layers: Words[] = [words];
  for (let inner = strip(words); inner && inner.length > 0 && layers.length < mostLayers; inner = strip(inner))
    layers.push(inner);
  const program = layers.at(-1) ?? words;
  const name = plainName(program);
  const stuck = name !== undefined && transparent.has(name) && program.length > 1 && !isLookup(program);
  const feeder = layers.findIndex((layer, i) => i < layers.length - 1 && plainName(layer) === 'xargs');
  const hidden = hiddenIn(program, { stuck, fed: feeder >= 0 });
  return { layers, ...hidden, fed: feeder < 0 ? hidden.fed : [...layers.slice(feeder + 1), ...hidden.fed] };
}

/** Takes one transparent wrapper off; `undefined` when there is none, or when its options are not understood. */
function strip(words: Words): Words | undefined {
  const name = plainName(words);
  const options = name === undefined ? undefined : transparent.get(name);
  if (!options) return undefined;
  let i = 1;
  for (; i < words.length; i++) {
    const text = words[i]!.splits ? undefined : words[i]!.value;
    if (text === undefined || !text.startsWith('-')) break;
    if (text === '--') {
      i++;
      break;
    }
    if (options.valued.test(text)) i++;
    else if (!options.plain.test(text)) return undefined;
  }
  const operands = words.slice(i, i + options.operands);
  if (operands.length < options.operands || operands.some((word) => word.splits)) return undefined;
  return words.slice(i + options.operands);
}

function plainName(words: Words): string | undefined {
  return programName(words)?.replace(/^\/(?:usr\/)?bin\//, '');
}

/** `command -v name` only says where a program is. */
function isLookup(words: Words): boolean {
  return programName(words) === 'command' && /^-p?[vV]/.test(words[1]?.raw ?? '');
}
