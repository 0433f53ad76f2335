import { analyse } from './bash.ts';
import { programName, programOf, type BashCommand } from './bash-analysis.ts';
import { needsNoRule } from './bash-cover.ts';
import { placeOf } from './bash-paths.ts';
import { commandFiles } from './bash-files.ts';
import { commandReads } from './bash-readonly.ts';
import { opensNoFile } from './bash-redirects.ts';
import type { Rules } from '../shapes/permission.ts';
import type { CheckedCall, PermissionContext } from './call.ts';
import { decide } from './chain.ts';
import { withRules } from './rules.ts';
import { hostOf } from './domains.ts';
import { locate } from './locate.ts';
import { parentPath, relativePath } from './paths.ts';

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
      return unique(
        call.traits.paths.map(({ path, use }) =>
          readRule(use === 'search' ? path : parentPath(locate(path, ctx).path), ctx),
        ),
      );
    case 'edit':
      return unique(call.traits.paths.map(({ path }) => `Edit(${anchored(locate(path, ctx).path, ctx)})`));
    case 'fetch': {
      const host = url === undefined ? undefined : hostOf(url);
      return host === undefined ? [] : [`WebFetch(domain:${host})`];
    }
    case 'other':
    case 'none': {
      if (mcp || call.tool.startsWith('mcp__')) return [call.tool];
      const skill =
        call.tool === 'Skill' && typeof call.input === 'object' && call.input !== null && 'skill' in call.input
          ? call.input.skill
          : undefined;
      return typeof skill === 'string' ? [`Skill(${skill} *)`] : [call.tool];
    }
  }
}

/** Programs whose second word says what they do. */
const withSubcommand = new Set(
  'git npm pnpm yarn bun deno cargo go docker podman kubectl helm gh glab terraform aws gcloud az pip pip3 uv poetry mvn gradle dotnet rails bundle composer systemctl brew apt apt-get task mix'.split(
    ' ',
  ),
);
/** Subcommands whose next word says it. */
const withScript = new Set(['run', 'exec', 'compose', 'x', 'dlx', 'tool']);
/** Programs that run whatever they are given: a prefix of them would allow everything. */
const runsAnything = new Set(
  'bash sh dash zsh ksh fish env sudo doas su xargs eval exec source . command builtin python python2 python3 node deno bun ruby perl php lua awk gawk sed find ssh npx bunx uvx pipx parallel watch setsid ionice flock strace nohup nice timeout time stdbuf osascript pwsh powershell cmd tclsh expect gdb vim vi emacs make rm curl wget busybox chroot unshare nsenter screen tmux at crontab trap'.split(
    ' ',
  ),
);

function bashSuggestions(command: string, ctx: PermissionContext, directories: readonly string[]): string[] {
  const analysis = analyse(command);
  if (analysis.problem !== undefined) return [];
  if (analysis.unclear.length > 0) return [`Bash(${command.trim()})`];
  const commands = analysis.commands.filter(
    (part) => part.role === 'run' && !needsNoRule(part, { ctx, rules: [], edits: false, directories }),
  );
  const edits = analysis.redirects
    .filter((redirect) => redirect.use === 'write' && !opensNoFile(redirect))
    .flatMap((redirect) => {
      const place = placeOf(redirect.target, redirect.folders, ctx);
      return place.kind === 'paths' ? place.paths.map((path) => `Edit(${anchored(locate(path, ctx).path, ctx)})`) : [];
    });
  const rules = unique([...commands.flatMap((part) => rulesFor(part, ctx)), ...edits]);
  return rules.length > most ? [] : rules;
}

/** A command that only reads elsewhere needs no rule of its own, just the folders. */
function rulesFor(command: BashCommand, ctx: PermissionContext): string[] {
  if (!commandReads(command) || programName(programOf(command)) === 'cd') return [ruleFor(command, ctx)];
  const read = commandFiles(command).map(({ word, use }) => ({ place: placeOf(word, command.folders, ctx), use }));
  const known = read.flatMap(({ place, use }) =>
    place.kind === 'paths'
      ? place.paths.map((path) => readRule(use === 'search' ? path : parentPath(locate(path, ctx).path), ctx))
      : [],
  );
  return known.length > 0 && read.every(({ place }) => place.kind === 'paths') ? known : [ruleFor(command, ctx)];
}

function ruleFor(command: BashCommand, ctx: PermissionContext): string {
  const words = programOf(command);
  const name = programName(words);
  const exact = `Bash(${[...command.assignments.map(({ raw }) => raw), ...command.words.map(({ raw }) => raw)].join(' ')})`;
  if (name === undefined || command.exactOnly || command.assignments.some(({ safe }) => !safe)) return exact;
  if (name === 'cd') {
    const place = words[1] ? placeOf(words[1], command.folders, ctx) : undefined;
    return place?.kind === 'paths' && place.paths.length === 1
      ? readRule(locate(place.paths[0]!, ctx).path, ctx)
      : exact;
  }
  const plain = words.map((word) =>
    word.value !== undefined && /^[\w@./:+-]+$/.test(word.raw) ? word.value : undefined,
  );
  const first = plain[1]?.startsWith('-') ? undefined : plain[1];
  if (withSubcommand.has(name)) {
    if (first === undefined) return exact;
    const script = withScript.has(first) ? plain[2] : undefined;
    if (withScript.has(first) && (script === undefined || script.startsWith('-'))) return exact;
    if (first === 'exec' || first === 'x' || first === 'dlx') return exact;
    return `Bash(${[name, first, ...(script === undefined ? [] : [script])].join(' ')}:*)`;
  }
  return runsAnything.has(name.replace(/^.*\//, '')) ? exact : `Bash(${name}:*)`;
}

function readRule(path: string, ctx: PermissionContext): string {
  const pattern = anchored(locate(path, ctx).path, ctx);
  return `Read(${pattern === '/' ? '/**' : `${pattern}/**`})`;
}

/** A path as a rule writes it, with everything that gitignore syntax would read otherwise taken literally. */
function anchored(path: string, ctx: PermissionContext): string {
  const below = ctx.cwd === ctx.root ? relativePath(path, ctx.root) : undefined;
  const escaped = (text: string) => text.replaceAll(/[\\*?[\]!#]/g, '\\$&');
  return below === undefined ? `/${escaped(path)}` : `/${escaped(below)}`;
}

function unique(rules: readonly string[]): string[] {
  return [...new Set(rules)];
}
