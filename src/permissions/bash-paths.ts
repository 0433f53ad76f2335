import type { Folders } from './bash-analysis.ts';
import type { BashWord, Piece } from './bash-words.ts';
import type { PermissionContext } from './call.ts';
import { joinPath, normalisePath, segmentsOf } from './paths.ts';
import type { PathPattern } from './path-rules.ts';
import { ANY, covers, literal, STAR, type Pattern } from './wildcard.ts';

/**
 * Where a word of a command may lead: known paths (absolute, links and `..` as written), or a pattern of them below known
 * folders and what it finds there now. Of an unknown one, `below` is where it starts and `why` what makes it dangerous.
 */
export type Place =
  | { kind: 'paths'; paths: readonly string[] }
  | { kind: 'below'; folders: readonly string[]; patterns: readonly PathPattern[]; found: readonly string[] }
  | { kind: 'unknown'; why?: string; below?: readonly string[] };

/** The absolute folders that a command may run in; `undefined` when they can't be told. */
export function foldersOf(folders: Folders, ctx: PermissionContext): string[] | undefined {
  if (folders === 'unknown') return undefined;
  const found: string[] = [];
  for (const way of folders) {
    let at = ctx.cwd;
    for (const word of way) {
      const target = textOf(word.pieces, ctx);
      if (target === undefined || word.splits) return undefined;
      at = joinPath(at, target);
    }
    found.push(at);
  }
  return [...new Set(found)];
}

/** Finds where a word leads when it is taken as a path. */
export function placeOf(word: BashWord, folders: Folders, ctx: PermissionContext): Place {
  const place = placeByName(word, folders, ctx);
  return place.kind !== 'unknown' && leadsAnywhere(place)
    ? { kind: 'unknown', why: 'it leads to the folder or the open file of a process' }
    : place;
}

/** Below such a name lies what a process is in or has open, which differs for everybody who looks. */
const ofProcess = /^\/(?:proc\/[^/]+\/(?:task\/[^/]+\/)?(?:cwd|root|fd|task|map_files)(?:\/|$)|dev\/fd\/[^/]+\/)/;
const mayBeOfProcess = /^\/(?:proc\/.*|dev\/fd\/.*\/.*)/s;

function leadsAnywhere(place: Exclude<Place, { kind: 'unknown' }>): boolean {
  const named = place.kind === 'paths' ? place.paths : place.found;
  const computed = place.kind === 'paths' ? [] : place.folders;
  return (
    named.some(
      (path) => ofProcess.test(normalisePath(path)) || ofProcess.test(path.replaceAll(/\/(?:\.?\/)+/g, '/')),
    ) || computed.some((folder) => mayBeOfProcess.test(`${normalisePath(folder)}/`))
  );
}

function placeByName(word: BashWord, folders: Folders, ctx: PermissionContext): Place {
  const bases = foldersOf(folders, ctx);
  const text = textOf(word.pieces, ctx);
  if (text !== undefined) {
    if (text.startsWith('/')) return { kind: 'paths', paths: [text] };
    return bases ? { kind: 'paths', paths: bases.map((base) => joinPath(base, text)) } : { kind: 'unknown' };
  }
  const computed = word.pieces.findIndex((piece) => piece.kind === 'unknown');
  if (computed >= 0) {
    const start = textOf(word.pieces.slice(0, computed), ctx)?.replace(/[^/]*$/, '') ?? '';
    return start === ''
      ? { kind: 'unknown' }
      : { kind: 'unknown', below: (bases ?? [ctx.cwd]).map((base) => joinPath(base, start)) };
  }
  const glob = globOf(word.pieces, ctx);
  if (!glob || glob.rest.includes('..')) return { kind: 'unknown' };
  const starts = glob.folder.startsWith('/') ? [glob.folder] : bases?.map((base) => joinPath(base, glob.folder));
  if (!starts) return { kind: 'unknown' };
  const rest = glob.rest.map(globPattern);
  const found = starts.flatMap((start) => findNames(start, rest, ctx));
  if (found.length > mostFound) return { kind: 'unknown' };
  return {
    kind: 'below',
    folders: starts,
    patterns: starts.map((start) => [...segmentsOf(normalisePath(start)).map(literal), ...rest]),
    found,
  };
}

/** Names that a wildcard may find before nobody looks at each of them any more. */
const mostFound = 1000;
const dot = 46;

/** What a pattern finds below a folder; a wildcard in front finds no hidden name. */
function findNames(folder: string, [first, ...rest]: readonly Pattern[], ctx: PermissionContext): string[] {
  if (!ctx.list || !first) return first ? [] : [folder];
  const names = first.some((code) => code < 0) ? ctx.list(folder) : [String.fromCharCode(...first)];
  const shown = names.filter((name) => covers(first, name) && (!name.startsWith('.') || first[0] === dot));
  const found: string[] = [];
  for (const name of shown) {
    if (found.length > mostFound) break;
    found.push(...findNames(joinPath(folder, name), rest, ctx));
  }
  return found;
}

function textOf(pieces: readonly Piece[], ctx: PermissionContext): string | undefined {
  const texts = pieces.map((piece, i) => {
    if (piece.kind === 'text') return piece.text;
    if (piece.kind === 'home') return ctx.home;
    return piece.kind === 'here' && i === 0 ? '.' : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.join('');
}

/** Stand-ins for wildcards, from the private area of Unicode; a text that holds them only becomes less certain. */
const star = '\uE000';
const question = '\uE001';

/** Splits a word with wildcards into the folder before the first one and the folders after it. */
function globOf(pieces: readonly Piece[], ctx: PermissionContext): { folder: string; rest: string[] } | undefined {
  const marked = pieces.map((piece): Piece =>
    piece.kind === 'glob' ? { kind: 'text', text: piece.text === '*' ? star : question } : piece,
  );
  const text = textOf(marked, ctx);
  if (text === undefined) return undefined;
  const first = text.search(/[\uE000\uE001]/);
  const slash = text.lastIndexOf('/', first);
  return { folder: slash < 0 ? '.' : text.slice(0, slash) || '/', rest: text.slice(slash + 1).split('/') };
}

function globPattern(text: string): number[] {
  return literal(text).map((code) => {
    if (code === star.charCodeAt(0)) return STAR;
    return code === question.charCodeAt(0) ? ANY : code;
  });
}
