import type { ArithmeticWord, ParameterExpansionPart, TestBinaryExpression, TestUnaryExpression, Word } from 'unbash';
import { programName } from './bash-analysis.ts';
import { isLoopVariable, isSafeVariable, variableDoubt } from './bash-variables.ts';
import type { BashWord } from './bash-words.ts';

/** Why an expansion may do more than put in a value: bash evaluates indexes, offsets and indirect names as arithmetic, which runs substitutions. */
export function expansionDoubt(node: ParameterExpansionPart): string | undefined {
  if (node.prefix === '!') return 'an expansion is indirect';
  if (node.index && !/^(?:[@*]|\d+)$/.test(node.index.text)) return 'an expansion has a computed index';
  const operation = node.operation;
  if (!operation) return undefined;
  switch (operation.type) {
    case 'Default':
      return operation.operator.includes('=') ? 'an expansion sets a variable' : undefined;
    case 'Slice':
      return [operation.offset, operation.length].every((word) => word === undefined || /^\s*-?\d*\s*$/.test(word.text))
        ? undefined
        : 'an expansion has a computed offset';
    case 'Remove':
    case 'Replace':
    case 'CaseModification':
      return undefined;
    default:
      return 'an expansion transforms its value';
  }
}

/** Whether a word of an arithmetic expression is a number, so that nothing hidden is evaluated. */
export function arithmeticIsPlain(node: ArithmeticWord): boolean {
  return /^\s*(?:\d+|0[xX][0-9a-fA-F]+|\$[#?$!]|\$\{#\w+\})\s*$/.test(node.value);
}

const numeric = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge']);

/** Why a test inside `[[ ]]` may run what stands in a variable. */
export function testDoubt(node: TestUnaryExpression | TestBinaryExpression): string | undefined {
  if (node.type === 'TestUnary')
    return node.operator === '-v' || node.operator === '-R' ? 'a test looks a name up' : undefined;
  return numeric.has(node.operator) && ![node.left, node.right].every(isNumber)
    ? 'arithmetic may run commands that stand in a variable'
    : undefined;
}

function isNumber(word: Word): boolean {
  return /^"?(?:-?\d+|\$[#?]|\$\{#\w+\})"?$/.test(word.text);
}

const takesNames = new Set(
  'read unset declare typeset local export readonly mapfile readarray wait getopts test [ printf'.split(' '),
);
/** Those that take a name behind an option only. */
const behindOption: ReadonlyMap<string, RegExp> = new Map([
  ['test', /^-[vR]$/],
  ['[', /^-[vR]$/],
  ['printf', /^-v/],
  ['wait', /^-\w*p/],
]);
/** Options with a value that is no name. */
const valued: ReadonlyMap<string, RegExp> = new Map([
  ['read', /^-\w*[pdtnNui]$/],
  ['mapfile', /^-\w*[dnOsuc]$/],
  ['readarray', /^-\w*[dnOsuc]$/],
]);

/** Why a builtin that takes the names of variables may run something: what stands in an index of one, or in a variable that bash runs. */
export function namesDoubt(words: readonly BashWord[]): string | undefined {
  const name = programName(words);
  if (name === undefined || !takesNames.has(name)) return undefined;
  const args = words.slice(1);
  if (name === 'printf' && printfSets(args)) return 'printf sets a variable';
  for (const [i, word] of args.entries()) {
    const before = args[i - 1]?.value ?? '';
    const option = behindOption.get(name);
    if (option && !option.test(before) && !option.test(word.value ?? '')) continue;
    if (name === 'getopts' && i !== 1) continue;
    const doubt = valued.get(name)?.test(before) ? undefined : nameDoubt(word);
    if (doubt !== undefined) return `${name}: ${doubt}`;
  }
  return undefined;
}

/** Whether `printf` gives a variable a value that may change what other programs do: by `-v`, or by `%n` in its format. */
function printfSets([first, ...rest]: readonly BashWord[]): boolean {
  if (first === undefined) return false;
  const text = first.splits ? undefined : first.value;
  if (text === '--') return printfSets(rest);
  if (text?.startsWith('-v')) return !isIdle(text.slice(2) || rest[0]?.value);
  return (text === undefined || printfCounts(text)) && rest.some((word) => !isIdle(word.value));
}

/** Whether a format of `printf` holds `%n`, which puts the number of characters so far into the variable of its argument. */
export function printfCounts(format: string): boolean {
  return /%[^%A-Za-z(]*[hlLjztq]*n/.test(format.replaceAll('%%', ''));
}

/** Whether a text is no name of a variable, or of one that changes nothing. */
function isIdle(text: string | undefined): boolean {
  return text !== undefined && (!/^[A-Za-z_]/.test(text) || isLoopVariable(text) || isSafeVariable(text));
}

/** A word may be a name, a name with an index, and each with a value behind it; an option may have its name attached. */
function nameDoubt(word: BashWord): string | undefined {
  const [first] = word.pieces;
  const text = word.value ?? (first?.kind === 'text' ? first.text : '');
  const [, name, index, assigned] = /^(?:-[vp])?([A-Za-z_]\w*)(?:\[([\s\S]*?)\])?(\+?=[\s\S]*)?$/.exec(text) ?? [];
  const hidden = index !== undefined && !/^(?:[@*]|\d+)$/.test(index);
  if (hidden || (name === undefined && /^(?:-[vp])?[A-Za-z_]\w*\[/.test(text)))
    return 'it may run commands that stand in an index';
  if (word.value === undefined && assigned === undefined) return 'the name of a variable is computed';
  return name === undefined ? undefined : variableDoubt(name, word.value && assigned?.replace(/^\+?=/, ''));
}
