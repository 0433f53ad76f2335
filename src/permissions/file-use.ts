import { firstText } from './bash-options.ts';
import { wordOf, type BashWord } from './bash-words.ts';

/**
 * A file that a program is told to read or change. `tree`: and everything below it. `aside`: the program is not there to
 * change files, so that a rule for it need not mean this.
 */
export type FileUse = { word: BashWord; use: 'read' | 'search' | 'edit' | 'tree'; aside?: true };

/** A file that nobody can tell. */
export const anywhere = wordOf('a link or a list', [{ kind: 'unknown' }], false);

/** A file that a program changes. */
export function edit(word: BashWord): FileUse {
  return { word, use: 'edit' };
}

/** A folder, or a file, that a program changes with all below it. */
export function tree(word: BashWord): FileUse {
  return { word, use: 'tree' };
}

/** A change that a program makes because of an option, although it is there for something else. */
export function aside(word: BashWord): FileUse {
  return { word, use: 'tree', aside: true };
}

/** A path as a program reads it that first walks into a folder. */
export function within(folder: BashWord, word: BashWord): BashWord {
  const [first] = word.pieces;
  if (firstText(word).startsWith('/') || first?.kind === 'home' || first?.kind === 'here') return word;
  return wordOf(
    word.raw,
    [...folder.pieces, { kind: 'text', text: '/' }, ...word.pieces],
    folder.splits || word.splits,
  );
}

/** The name that a file gets that is put into a folder. */
export function insideOf(target: BashWord, source: BashWord): BashWord {
  const name = source.value?.replace(/\/+$/, '').replace(/^.*\//, '');
  const last =
    name === undefined || name === '.' || name === '..'
      ? { kind: 'unknown' as const }
      : { kind: 'text' as const, text: `/${name}` };
  return { raw: `${target.raw}/…`, pieces: [...target.pieces, last], splits: target.splits };
}
