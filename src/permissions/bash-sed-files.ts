import { firstText } from './bash-options.ts';
import { readScript } from './bash-sed.ts';
import { sedScript, someValue } from './bash-sed-words.ts';
import { plainWord, wordOf, type BashWord } from './bash-words.ts';
import { anywhere, aside, edit, tree, within, type FileUse } from './file-use.ts';

type Words = readonly BashWord[];

/** What sed writes, and what its script reads. `operands`: the files that it is given, which it may change in place. */
export function sedFiles(words: Words, operands: Words): FileUse[] {
  const script = sedScript(words);
  const { read, written } =
    script.kind === 'script'
      ? readScript(script.text)
      : { read: [], written: script.kind === 'unknown' ? [someValue] : [] };
  return [
    ...(sedInPlace(words) ? [...operands.map(edit), ...backups(words, operands)] : []),
    ...read.filter(isFile).map((text): FileUse => ({ word: scriptFile(text), use: 'read' })),
    ...written.filter(isFile).map((text) => aside(scriptFile(text))),
  ];
}

function sedInPlace(words: Words): boolean {
  return words.slice(1).some((word) => /^-[nrEsuzb]*i|^--i/.test(firstText(word)));
}

/** The folders that copies are kept in when the suffix for them holds a slash: from where the file is. */
function backups(words: Words, operands: Words): FileUse[] {
  const suffixes = words.slice(1).flatMap((word) => {
    const [, suffix] = /^(?:-[nrEsuzb]*i|--i[a-z-]*=)([\s\S]*\/)/.exec(firstText(word)) ?? [];
    return suffix === undefined ? [] : [plainWord(suffix)];
  });
  return suffixes.flatMap((suffix) => [
    tree(suffix),
    ...operands.map((file) => {
      const folder = file.value?.replace(/[^/]*$/, '');
      return tree(folder === undefined ? anywhere : folder === '' ? suffix : within(plainWord(folder), suffix));
    }),
  ]);
}

function isFile(name: string): boolean {
  return !/^\/dev\/std(?:in|out|err)$/.test(name);
}

/** A name as a script spells it; what a shell puts in it is not known. */
function scriptFile(text: string): BashWord {
  return text.includes(someValue)
    ? wordOf(text.replaceAll(someValue, '…'), [{ kind: 'unknown' }], false)
    : plainWord(text);
}
