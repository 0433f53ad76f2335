import { isCoveredEdit } from './accept-edits.ts';
import type { BashAnalysis, BashCommand, BashRedirect } from './bash-analysis.ts';
import { commandFiles, mayBeToldFile } from './bash-files.ts';
import { placeOf } from './bash-paths.ts';
import { gitHindrance, inputWithin, mixesFolders, readsWithin, runsGit, type Reach } from './bash-reach.ts';
import { commandReads } from './bash-readonly.ts';
import { opensNoFile } from './bash-redirects.ts';
import { allowsCommand, betweenWords } from './bash-text.ts';
import type { CompiledRule } from './compile.ts';
import { isWithin, locate } from './locate.ts';
import { ruleForUse } from './uses.ts';

/** What may let the parts of a command through; `edits`: the mode accepts changes inside the job's folders. */
export type Means = Reach & { edits: boolean };

/** How a command is covered: by these rules (none, if it needs no rule), or why it is not. */
export type Coverage = { kind: 'covered'; rules: CompiledRule[] } | { kind: 'open'; text: string };

/** Whether every part of a command, and every file that bash opens for it, is let through by something. */
export function coverBash(analysis: BashAnalysis, means: Means): Coverage {
  if (analysis.problem !== undefined) return { kind: 'open', text: analysis.problem };
  const exact = exactRule(analysis, means.rules);
  const used: CompiledRule[] = exact ? [exact] : [];
  const doubt = exact ? undefined : doubtAbout(analysis, means);
  if (doubt !== undefined) return { kind: 'open', text: doubt };
  for (const command of exact ? [] : analysis.commands) {
    if (command.role !== 'run' || needsNoRule(command, means)) continue;
    const rule = ruleForCommand(command, means);
    if (!rule) return { kind: 'open', text: whyNot(command, means) };
    used.push(rule);
  }
  for (const redirect of analysis.redirects) {
    const covered = coverRedirect(redirect, means);
    if (covered === false)
      return { kind: 'open', text: `no rule allows the redirection to \`${redirect.target.raw}\`` };
    if (covered !== true) used.push(covered);
  }
  return { kind: 'covered', rules: used };
}

/** An allow rule that is, word for word, the whole command line. */
function exactRule(analysis: BashAnalysis, rules: readonly CompiledRule[]): CompiledRule | undefined {
  const whole = betweenWords(analysis.command);
  return rules.find((rule) => rule.command?.texts.includes(whole));
}

function doubtAbout(analysis: BashAnalysis, { ctx }: Means): string | undefined {
  if (analysis.empty) return 'it runs nothing';
  if (analysis.unclear.length > 0) return analysis.unclear[0];
  return mixesFolders(analysis, ctx) ? 'it changes the folder and then runs git or writes a file there' : undefined;
}

/** Whether a part of a command is let through without any Bash rule. */
export function needsNoRule(command: BashCommand, means: Means): boolean {
  if (commandReads(command) && readsWithin(command, means)) return true;
  return means.edits && isCoveredEdit(command, means.ctx, means.directories);
}

/** The allow rule that covers a command: a pattern only as far as it covers the files that the command changes. */
function ruleForCommand(command: BashCommand, means: Means): CompiledRule | undefined {
  const covering = rulesThatAllow(command, means);
  const whole = betweenWords(command.source);
  const exact = covering.find((rule) => rule.command?.texts.includes(whole));
  return exact ?? (patternHindrance(command, means) === undefined ? covering[0] : undefined);
}

function rulesThatAllow(command: BashCommand, { rules }: Means): CompiledRule[] {
  return rules.filter(({ command: pattern }) => pattern !== undefined && allowsCommand(pattern, command));
}

/**
 * Why a pattern does not cover a command that it matches: a file that is only known when it runs may be a protected one,
 * and one outside is not meant by a rule for a program that is there for something else.
 */
function patternHindrance(command: BashCommand, { ctx, directories, rules }: Means): string | undefined {
  for (const { word, use, aside } of commandFiles(command)) {
    if (use !== 'edit' && use !== 'tree') continue;
    const place = placeOf(word, command.folders, ctx);
    if (place.kind === 'unknown') return `what it changes (${word.raw || 'from its input'}) is only known when it runs`;
    const paths = place.kind === 'paths' ? place.paths : [...place.folders, ...place.found];
    const inside = paths.every((path) => isWithin(locate(path, ctx), [ctx.root, ...directories], ctx));
    if (aside && !inside && !ruleForUse(rules, { place, use, text: word.raw }, ctx))
      return `it writes ${word.raw}, outside the working folders`;
  }
  return mayBeToldFile(command)
    ? 'a word that is only known when it runs may name a file to write; `--` in front of it rules that out'
    : undefined;
}

function whyNot(command: BashCommand, means: Means): string {
  const hindrance =
    commandReads(command) && runsGit(command)
      ? gitHindrance(command, means)
      : rulesThatAllow(command, means).length > 0
        ? patternHindrance(command, means)
        : undefined;
  if (hindrance !== undefined && rulesThatAllow(command, means).length > 0)
    return `no rule allows \`${brief(command)}\` word for word, and ${hindrance}`;
  return `no rule allows \`${brief(command)}\`${hindrance === undefined ? '' : `, and ${hindrance}`}`;
}

function coverRedirect(redirect: BashRedirect, means: Means): CompiledRule | boolean {
  const { ctx, directories, rules, edits } = means;
  if (opensNoFile(redirect) || inputWithin(redirect, means)) return true;
  if (redirect.target.pieces.some((piece) => piece.kind !== 'text')) return false;
  const place = placeOf(redirect.target, redirect.folders, ctx);
  if (place.kind !== 'paths' || place.paths.some((path) => path.startsWith('/dev/'))) return false;
  const within = place.paths.every((path) => isWithin(locate(path, ctx), [ctx.root, ...directories], ctx));
  if (redirect.use === 'write' && edits && within) return true;
  const use = redirect.use === 'write' ? 'edit' : 'read';
  return ruleForUse(rules, { place, use, text: redirect.target.raw }, ctx) ?? false;
}

function brief(command: BashCommand): string {
  const text = command.source.replaceAll(/\s+/g, ' ').trim();
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
