import { analyse } from './bash.ts';
import { programName, programOf, type BashCommand } from './bash-analysis.ts';
import { needsNoRule } from './bash-cover.ts';
import { placeOf } from './bash-paths.ts';
import { commandFiles } from './bash-files.ts';
import { commandReads } from './bash-readonly.ts';
import { opensNoFile } from './bash-redirects.ts';
import { asSpecifier, oneSpace } from './bash-text.ts';
import type { Rules } from '../shapes/permission.ts';
import type { CheckedCall, PathUse, PermissionContext } from './call.ts';
import { decide } from './chain.ts';
import { mayReadCode, rulePrefix } from './rule-prefix.ts';
import { withRules } from './rules.ts';
import { hostOf } from './domains.ts';
import { locate } from './locate.ts';
import { isInside, parentPath, relativePath } from './paths.ts';

/** Rules that one "always allow" adds at most. */
const most = 5;

/**
 * The allow rules that "always allow" would add for a call, one for each part of a command. With the rules in force: none
 * when they would not help, because an ask rule or a safety check wants a person each time.
 */
export function suggestions(call: CheckedCall, ctx: PermissionContext, rules?: Rules): string[] {
  const found = suggest(call, rules?.trusted === false ? { ...ctx, untrusted: true } : ctx, rules?.directories ?? []);
  if (!rules || found.length === 0) return found;
  const more = withRules(rules, { allow: found }, { kind: 'session', base: ctx.root });
  return decide({ ...call, hook: undefined }, more, ctx).behavior === 'allow' ? found : [];
}

function suggest(call: CheckedCall, ctx: PermissionContext, directories: readonly string[]): string[] {
  const { access, url, requiresInteraction, mcp } = call.traits;
  if (requiresInteraction) return [];
  switch (access) {
    case 'bash':
      return bashSuggestions(call.traits.command ?? '', ctx, directories);
    case 'read':
      return unique(call.traits.paths.flatMap(({ path, use }) => readRule(path, use, ctx)));
    case 'edit':
      return unique(call.traits.paths.flatMap(({ path }) => pathRule('Edit', path, ctx)));
    case 'fetch': {
      const host = url === undefined ? undefined : hostOf(url);
      return host === undefined || host.includes('*') ? [] : [`WebFetch(domain:${host})`];
    }
    case 'other':
    case 'none': {
      if (mcp || call.tool.startsWith('mcp__')) return [call.tool];
      const skill =
        call.tool === 'Skill' && typeof call.input === 'object' && call.input !== null && 'skill' in call.input
          ? call.input.skill
          : undefined;
      if (typeof skill !== 'string') return [call.tool];
      return /^[\w@./:+-]+$/.test(skill) ? [`Skill(${skill} *)`] : [];
    }
  }
}

/** Rules for the parts of a command; for the very line, where what it runs comes from elsewhere in it. */
function bashSuggestions(command: string, ctx: PermissionContext, directories: readonly string[]): string[] {
  const analysis = analyse(command);
  if (analysis.problem !== undefined) return [];
  const run = analysis.commands.filter((part) => part.role === 'run');
  const isFed = run.some(({ fed, layers }) => fed.length > 0 || layers.some(mayReadCode));
  if (isFed && run.length === 1 && wordsOf(run[0]!) === oneSpace(command)) return [];
  const edits = analysis.redirects
    .filter((redirect) => redirect.use === 'write' && !opensNoFile(redirect))
    .flatMap((redirect) => {
      const place = placeOf(redirect.target, redirect.folders, ctx);
      return place.kind === 'paths' ? place.paths.flatMap((path) => pathRule('Edit', path, ctx)) : [];
    });
  const open = run.filter((part) => !needsNoRule(part, { ctx, rules: [], edits: false, directories }));
  const isComputed = open.some(
    (part) => rulePrefix(programOf(part)) === undefined && part.words.some(({ value }) => value === undefined),
  );
  if (isFed || isComputed || analysis.unclear.length > 0) return unique([...exactRule(command), ...edits]);
  const parts = open.map((part) => rulesFor(part, ctx));
  if (parts.some((rules) => rules.length === 0)) return [];
  const rules = unique([...parts.flat(), ...edits]);
  return rules.length > most ? [] : rules;
}

/** A command that only reads elsewhere needs no rule of its own, just the folders. */
function rulesFor(command: BashCommand, ctx: PermissionContext): string[] {
  if (!commandReads(command) || programName(programOf(command)) === 'cd') return ruleFor(command, ctx);
  const read = commandFiles(command).map(({ word, use }) => ({ place: placeOf(word, command.folders, ctx), use }));
  const known = read.flatMap(({ place, use }) =>
    place.kind === 'paths' ? place.paths.flatMap((path) => readRule(path, use, ctx)) : [],
  );
  return known.length > 0 && read.every(({ place }) => place.kind === 'paths') ? known : ruleFor(command, ctx);
}

function ruleFor(command: BashCommand, ctx: PermissionContext): string[] {
  const words = programOf(command);
  if (programName(words) === 'cd') {
    const place = words[1] ? placeOf(words[1], command.folders, ctx) : undefined;
    const folder = place?.kind === 'paths' && place.paths.length === 1 ? locate(place.paths[0]!, ctx).path : undefined;
    if (folder !== undefined && !isWide(folder, ctx)) return pathRule('Read', folder, ctx, '/**');
  }
  const isOpen = !command.exactOnly && command.assignments.every(({ safe }) => safe);
  const prefix = isOpen ? rulePrefix(words) : undefined;
  return prefix === undefined ? exactRule(wordsOf(command)) : [`Bash(${prefix}:*)`];
}

const wordsOf = ({ assignments, words }: BashCommand): string =>
  [...assignments, ...words].map(({ raw }) => raw).join(' ');

/** The rule for one text alone. None where the blanks around it mean something, since a rule's are not looked at. */
function exactRule(command: string): string[] {
  const text = command.trim();
  return text.endsWith('\\') ? [] : [`Bash(${asSpecifier(text)})`];
}

/** The folder of a file that was read, or what was searched. */
function readRule(path: string, use: PathUse['use'], ctx: PermissionContext): string[] {
  const at = locate(path, ctx).path;
  if (use === 'search') return pathRule('Read', at, ctx, '/**');
  const folder = parentPath(at);
  return isWide(folder, ctx) ? pathRule('Read', at, ctx) : pathRule('Read', folder, ctx, '/**');
}

/** Whether a folder holds far more than what a job has to do with. */
function isWide(folder: string, ctx: PermissionContext): boolean {
  return [ctx.root, ctx.home].some((one) => isInside(one, folder) || isInside(locate(one, ctx).real, folder));
}

/** A path as a rule writes it, with everything that gitignore syntax would read otherwise taken literally. */
function pathRule(tool: 'Read' | 'Edit', path: string, ctx: PermissionContext, below = ''): string[] {
  const at = locate(path, ctx).path;
  // One pattern is one line, and blanks at its end are not looked at.
  if (/[\r\n]/.test(at) || (below === '' && /\s$/.test(at))) return [];
  const inside = ctx.cwd === ctx.root ? relativePath(at, ctx.root) : undefined;
  const pattern = `/${(inside ?? at).replaceAll(/[\\*?[\]!#]/g, '\\$&')}`;
  return [`${tool}(${pattern === '/' && below !== '' ? below : `${pattern}${below}`})`];
}

function unique(rules: readonly string[]): string[] {
  return [...new Set(rules)];
}
