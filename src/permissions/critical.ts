import { baseName, type BashAnalysis, type BashCommand, type Folders } from './bash-analysis.ts';
import { filesOf } from './bash-files.ts';
import { placeOf } from './bash-paths.ts';
import type { BashWord } from './bash-words.ts';
import type { PermissionContext } from './call.ts';
import { locate } from './locate.ts';
import { isInside, normalisePath, parentPath } from './paths.ts';
import { ANY, STAR } from './wildcard.ts';

/** What a command would remove although nobody may remove it unasked; `undefined` when nothing. No mode and no rule allows it. */
export function criticalRemoval(
  analysis: BashAnalysis,
  ctx: PermissionContext,
  directories: readonly string[],
): string | undefined {
  for (const command of analysis.commands) {
    for (const words of [...command.layers, ...command.beneath]) {
      const found = removalOf(words, command, ctx, directories);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function removalOf(
  words: readonly BashWord[],
  command: BashCommand,
  ctx: PermissionContext,
  directories: readonly string[],
): string | undefined {
  const name = baseName(words);
  if (name === 'find') {
    const trees = filesOf(words).filter((file) => file.use === 'tree');
    return trees.map((file) => file.word).find((word) => isCritical(word, command.folders, ctx, directories, false))
      ?.raw;
  }
  const computed = name === undefined && words.some((word) => /^-\w*[rRf]/.test(word.raw));
  if (name !== 'rm' && name !== 'rmdir' && !computed) return undefined;
  const targets = words.slice(1).filter((word) => !word.raw.startsWith('-'));
  return targets.find((word) => isCritical(word, command.folders, ctx, directories, true))?.raw;
}

function isCritical(
  word: BashWord,
  folders: Folders,
  ctx: PermissionContext,
  directories: readonly string[],
  here: boolean,
): boolean {
  if (word.pieces.some((piece) => piece.kind === 'unknown')) return isBelowUnknown(word);
  const place = placeOf(word, folders, ctx);
  switch (place.kind) {
    case 'unknown':
      return word.pieces[0]?.kind === 'glob' || /^(?:\.\.?\/?)+$/.test(word.value ?? '');
    case 'paths':
      return place.paths.some((path) => bothNames(path, ctx).some((at) => isCriticalPath(at, ctx, here)));
    case 'below':
      return place.folders.some((folder, i) => {
        const depth = bothNames(folder, ctx);
        const all = place.patterns[i]!.at(-1)!;
        const everything = all !== '**' && all.every((code) => code === STAR || code === ANY || code === 46);
        return depth.some((at) => isOpenFolder(at, ctx, directories) || (everything && isCriticalPath(at, ctx, here)));
      });
  }
}

/** A slash or a wildcard right behind a value that may turn out empty. */
function isBelowUnknown(word: BashWord): boolean {
  const first = word.pieces.findIndex((piece) => piece.kind === 'unknown');
  const last = word.pieces.findLastIndex((piece) => piece.kind === 'unknown');
  const before = word.pieces
    .slice(0, first)
    .map((piece) => (piece.kind === 'text' ? piece.text : ' '))
    .join('');
  const after = word.pieces
    .slice(last + 1)
    .map((piece) => (piece.kind === 'text' ? piece.text : '*'))
    .join('');
  return /^\/+$/.test(before) || /^\/[/.*]*$/.test(after) || (/^~\w+$/.test(word.raw) && after === '');
}

function bothNames(path: string, ctx: PermissionContext): string[] {
  const at = locate(path, ctx);
  return [at.path, at.real];
}

/** The root, what lies right below it, the home folder, and the current folder with all above it. */
function isCriticalPath(path: string, ctx: PermissionContext, here: boolean): boolean {
  if (path === '/' || parentPath(path) === '/') return true;
  const homes = bothNames(ctx.home, ctx);
  if (homes.some((home) => isInside(home, path))) return true;
  const starts = [...bothNames(ctx.cwd, ctx), ...bothNames(ctx.root, ctx)];
  return starts.some((start) => isInside(start, path) && (here || start !== path));
}

/** Folders of which a wildcard may not remove even a part. */
function isOpenFolder(path: string, ctx: PermissionContext, directories: readonly string[]): boolean {
  if (path === '/' || parentPath(path) === '/') return true;
  return [ctx.home, ...directories].some(
    (folder) => normalisePath(folder) === path || locate(folder, ctx).real === path,
  );
}
