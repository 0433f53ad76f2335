import type { PermissionContext, ResolvedPath } from './call.ts';
import type { Place } from './bash-paths.ts';
import { locate } from './locate.ts';
import { isInside, segmentsOf } from './paths.ts';
import { intersects, literal, type Pattern } from './wildcard.ts';

const folders = new Set(['.git', '.vscode', '.idea', '.husky', '.cargo', '.devcontainer', '.yarn', '.mvn', '.claude']);

const files = new Set(
  [
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout',
    '.kshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc config.fish',
    '.gitconfig .gitmodules .envrc .npmrc .pre-commit-config.yaml .pre-commit-config.yml bunfig.toml',
    'gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json',
  ].flatMap((line) => line.split(' ')),
);

const filePrefixes = ['.yarnrc', '.pnp.', '.bazelrc', 'lefthook', '.lefthook'];

/**
 * Why a path is one whose content other programs obey, `undefined` when it is not. Names are compared without regard to
 * case, since some file systems do the same.
 */
export function protectedName(path: string): string | undefined {
  const parts = segmentsOf(path.toLowerCase());
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (part === '.claude' && parts[i + 1] === 'worktrees' && i + 2 < parts.length) continue;
    if (folders.has(part)) return `${part} is a protected folder`;
    if (part === '.config' && parts[i + 1] === 'git') return '.config/git is a protected folder';
  }
  const name = parts.at(-1) ?? '';
  if (files.has(name) || filePrefixes.some((prefix) => name.startsWith(prefix))) return `${name} is a protected file`;
  return undefined;
}

/** Why writing to a path needs a person in every mode but `bypassPermissions`. The name and the target of a link both count. */
export function protectedReason({ path, real }: ResolvedPath, ctx: PermissionContext): string | undefined {
  return protectedName(path) ?? protectedName(real) ?? guardedReason({ path, real }, ctx);
}

function guardedReason({ path, real }: ResolvedPath, { guarded = [], resolve }: PermissionContext): string | undefined {
  const folder = guarded.find((folder) => {
    const at = resolve(folder);
    return [path, real].some((one) => isInside(one, at.path) || isInside(one, at.real));
  });
  return folder === undefined ? undefined : `${folder} is a protected folder`;
}

/** Whether a path is nightshift's own state, which no job may touch or look into by itself. */
export function isOwnState({ path, real }: ResolvedPath, ctx: PermissionContext, reads: boolean): boolean {
  if (ctx.nightshiftHome === undefined) return false;
  const home = locate(ctx.nightshiftHome, ctx);
  const inHome = [path, real].some((p) => isInside(p, home.path) || isInside(p, home.real));
  if (!inHome) return false;
  const open = [ctx.root, ...(reads ? (ctx.readable ?? []) : [])].filter((folder) => folder !== ctx.nightshiftHome);
  return !open.some((folder) => {
    const at = locate(folder, ctx);
    return (isInside(at.path, home.path) || isInside(at.real, home.real)) && isInside(real, at.real);
  });
}

/** The same for a place that may be known in part only: a wildcard of the shell may find a protected hidden name. */
export function protectedPlace(place: Place, ctx: PermissionContext): string | undefined {
  if (place.kind === 'unknown')
    return (
      place.why ?? place.below?.map((path) => protectedReason(locate(path, ctx), ctx)).find((why) => why !== undefined)
    );
  if (place.kind === 'paths') {
    return place.paths.map((path) => protectedReason(locate(path, ctx), ctx)).find((why) => why !== undefined);
  }
  const inFolder = [...place.folders, ...place.found]
    .map((path) => protectedReason(locate(path, ctx), ctx))
    .find((why) => why !== undefined);
  if (inFolder !== undefined) return inFolder;
  const names = [...folders, ...files, ...filePrefixes].filter((name) => name.startsWith('.')).map(literal);
  const mayFind = place.patterns.some((pattern) =>
    pattern.some(
      (part) =>
        part !== '**' &&
        part.some((code) => code < 0) &&
        part[0] === dot &&
        names.some((name) => intersects(name, part)),
    ),
  );
  const spelled = place.patterns
    .map((pattern) => protectedName(pattern.map(spell).join('/')))
    .find((why) => why !== undefined);
  return mayFind ? 'a wildcard may find a protected name' : spelled;
}

const dot = 46;

function spell(part: Pattern | '**'): string {
  return part === '**' ? '*' : part.map((code) => (code < 0 ? '*' : String.fromCharCode(code))).join('');
}
