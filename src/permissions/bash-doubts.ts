import type { ArithmeticWord, ParameterExpansionPart, TestBinaryExpression, TestUnaryExpression, Word } from 'unbash';
import { programName } from './bash-analysis.ts';
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

/** Why a builtin that takes the names of variables may run what stands in an index of them. */
export function indexDoubt(words: readonly BashWord[]): string | undefined {
  const name = programName(words);
  if (name === undefined || !takesNames.has(name)) return undefined;
  if (['test', '[', 'printf'].includes(name) && !words.some((word) => /^-[vR]/.test(word.raw) || word.value === '-v'))
    return undefined;
  const hides = words.some((word, i) => i > 0 && /\[[\s\S]*[$`]/.test(`${word.raw} ${word.value ?? ''}`));
  return hides ? `${name} may run commands that stand in an index` : undefined;
}
