import ignore from 'ignore';
import type { Behavior, RuleSource } from '../shapes/permission.ts';
import type { PermissionContext, ResolvedPath } from './call.ts';
import { locate } from './locate.ts';
import { normalisePath, relativePath, segmentsOf } from './paths.ts';
import { ANY, intersects, literal, sequencesMeet, STAR, type Pattern } from './wildcard.ts';

/** A compiled `Read(…)` or `Edit(…)` specifier. */
export type PathRule = {
  anchor: 'root' | 'home' | 'source' | 'cwd';
  source: RuleSource;
  list: Behavior;
  /** Folders to go up from the anchor. */
  up: number;
  /** In gitignore syntax, below the anchor. */
  pattern: string;
  covers: (relative: string) => boolean;
};

/** A name that no rule spells out: what a folder's rule says about it, it says about everything in the folder. */
const anyChild = '\u0001';

/** Compiles a path specifier with its four anchors: `//p` file system, `~/p` home, `/p` the rule's source, `p` the current folder. */
export function compilePathRule(specifier: string, list: Behavior, source: RuleSource): PathRule {
  const { anchor, rest } = splitAnchor(specifier.trim());
  const parts = rest.split('/');
  const up = parts.findIndex((part) => part !== '..');
  const ups = up < 0 ? parts.length : up;
  const body = parts.slice(ups).join('/');
  const pattern = gitPattern(body, anchor !== 'cwd' || ups > 0, specifier.trim().startsWith('./'), list);
  const matcher = ignore({ ignorecase: false, allowRelativePaths: false }).add(pattern);
  return {
    anchor,
    source,
    list,
    up: ups,
    pattern,
    covers: (relative) => (relative === '' ? isEverything(pattern) : matcher.ignores(relative)),
  };
}

function splitAnchor(text: string): { anchor: PathRule['anchor']; rest: string } {
  if (text.startsWith('//')) return { anchor: 'root', rest: text.slice(2) };
  if (text === '~' || text.startsWith('~/')) return { anchor: 'home', rest: text.slice(2) };
  if (text.startsWith('/')) return { anchor: 'source', rest: text.slice(1) };
  return { anchor: 'cwd', rest: text.startsWith('./') ? text.slice(2) : text };
}

function gitPattern(body: string, anchored: boolean, dotted: boolean, list: Behavior): string {
  if (body === '' || body === '.') return '**';
  if (anchored) return `/${body}`;
  if (dotted && list === 'allow') return `/${body}`;
  // `dir/**` with one folder forbids at any depth, but allows only right here.
  if (list !== 'allow' && /^[^/]+\/\*\*$/.test(body)) return `**/${body}`;
  return body.startsWith('#') || body.startsWith('!') ? `\\${body}` : body;
}

function isEverything(pattern: string): boolean {
  return ['**', '/**', '*', '/*', '/**/*', '**/*'].includes(pattern);
}

const known = new WeakMap<PermissionContext, Map<string, Bases>>();

/** The folders that a rule is anchored at: as named, and with their links followed too. */
type Bases = { named: string[]; all: string[] };

function basesOf(rule: PathRule, ctx: PermissionContext): Bases {
  const table = known.get(ctx) ?? new Map<string, Bases>();
  known.set(ctx, table);
  const key = `${rule.anchor} ${rule.up} ${rule.list === 'allow'} ${rule.source.base}`;
  const before = table.get(key);
  if (before) return before;
  const anchors = anchorsOf(rule, ctx);
  const named = rule.up === 0 ? anchors : anchors.map((base) => normalisePath(`${base}/${'../'.repeat(rule.up)}`));
  const bases = { named, all: [...new Set(named.flatMap((base) => [base, locate(base, ctx).real]))] };
  table.set(key, bases);
  return bases;
}

function anchorsOf(rule: PathRule, ctx: PermissionContext): string[] {
  switch (rule.anchor) {
    case 'root':
      return ['/'];
    case 'home':
      return [ctx.home];
    case 'source':
      return [rule.source.base];
    case 'cwd':
      return currentFolders(rule, ctx);
  }
}

/** A job that walks into another folder must neither lose a deny nor gain an allow. */
function currentFolders(rule: PathRule, ctx: PermissionContext): string[] {
  return rule.list === 'allow' || ctx.cwd === ctx.root ? [ctx.root] : [ctx.root, ctx.cwd];
}

function coversOne(rule: PathRule, path: string, bases: string[], whole: boolean): boolean {
  return bases.some((base) => {
    const relative = relativePath(path, base);
    if (relative === undefined) return false;
    if (rule.covers(relative)) return true;
    return whole && rule.covers(relative === '' ? anyChild : `${relative}/${anyChild}`);
  });
}

/**
 * Whether a rule covers a path. Of a link, an allow rule must cover the name and the target, a deny or ask rule only one of
 * them. `whole`: a rule for everything below the path covers it too.
 */
export function pathRuleCovers(rule: PathRule, at: ResolvedPath, ctx: PermissionContext, whole = false): boolean {
  const { all } = basesOf(rule, ctx);
  const named = coversOne(rule, at.path, all, whole);
  if (at.path === at.real) return named;
  const target = coversOne(rule, at.real, all, whole);
  return rule.list === 'allow' ? named && target : named || target;
}

/** A path with unknown parts: one pattern per folder, `'**'` for any number of folders. */
export type PathPattern = readonly (Pattern | '**')[];

/** Whether a path with unknown parts may be one that the rule covers. */
export function pathRuleMayCover(rule: PathRule, path: PathPattern, ctx: PermissionContext): boolean {
  const body = rule.pattern.replace(/^\//, '').replace(/\/$/, '');
  const floating = !rule.pattern.replace(/\/$/, '').includes('/');
  return basesOf(rule, ctx).named.some((base) => {
    const below = [...(floating ? ['**' as const] : []), ...body.split('/').map(segmentPattern), '**' as const];
    return foldersIntersect([...segmentsOf(base).map(literal), ...below], path);
  });
}

function segmentPattern(text: string): Pattern | '**' {
  if (text === '**') return '**';
  const pattern: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && i + 1 < text.length) pattern.push(text.charCodeAt(++i));
    else if (text[i] === '*') pattern.push(STAR);
    else if (text[i] === '?') pattern.push(ANY);
    else if (text[i] === '[' && text.includes(']', i)) {
      i = text.indexOf(']', i);
      pattern.push(ANY);
    } else pattern.push(text.charCodeAt(i));
  }
  return pattern;
}

function foldersIntersect(rule: PathPattern, path: PathPattern): boolean {
  return sequencesMeet(
    rule,
    path,
    (part) => part === '**',
    (x, y) => x !== '**' && y !== '**' && segmentsMeet(x, y),
  );
}

const dot = 46;
/** A glob of the shell that starts with a wildcard never finds a hidden name. */
function segmentsMeet(rule: Pattern, shell: Pattern): boolean {
  if (rule[0] === dot && (shell[0] === ANY || shell[0] === STAR)) return false;
  return intersects(rule, shell);
}
