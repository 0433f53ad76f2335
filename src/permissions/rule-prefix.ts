import type { BashWord } from './bash-words.ts';

const set = (...lines: string[]): ReadonlySet<string> => new Set(lines.flatMap((line) => line.split(' ')));

/** Programs whose second word says what they do. */
const withSubcommand = set(
  'git npm pnpm yarn cargo go docker podman kubectl helm gh glab terraform aws gcloud az pip pip3 uv poetry mvn gradle',
  'dotnet rails bundle composer systemctl brew apt apt-get task mix',
);
/** Package managers whose `run` takes the name of a script that the project has. */
const runsScripts = set('npm pnpm yarn');
/** Second words behind which stands what is to run, or what makes later commands run something. */
const runsBehind = set(
  'run run-script exec x dlx eval runner r script fsi shell sh console repl ssh explore workspace workspaces foreach node',
  'tool debug attach cp edit generate config set env alias extension api bisect submodule rebase filter-branch difftool',
  'mergetool worktree patch install-scripts',
);
/** Programs that take their code from their input when nothing else says what they run. */
const readsCode = set(
  'bash sh dash ash mksh zsh ksh csh tcsh fish nu pwsh powershell cmd source . python pypy ipython node nodejs deno bun',
  'ruby irb pry jruby perl raku php lua luajit jshell jrunscript kotlin kscript scala scala-cli amm groovy clojure clj bb',
  'tsx ts-node ts-node-esm esno vite-node zx swift Rscript R julia octave matlab dart elixir iex erl escript runghc',
  'runhaskell ghci ocaml racket guile sbcl clisp tclsh wish expect gdb lldb ed ex vi vim nvim emacs osascript at batch',
  'parallel sqlite psql mysql mariadb mongo mongosh redis-cli',
);
/** More programs that run whatever they are given: a prefix of them would allow everything. */
const runsAnything = set(
  'env sudo doas su runuser xargs eval exec command builtin trap enable alias hash complete find fd fdfind ssh mosh watch',
  'entr setsid ionice flock strace ltrace perf nohup nice timeout time stdbuf script unbuffer busybox toybox chroot',
  'unshare nsenter bwrap firejail screen tmux crontab systemd-run valgrind direnv devbox mise asdf nix nix-shell nix-env',
  'java javaw npx bunx pnpx uvx pipx awk gawk mawk nawk sed nano less more man make gmake cmake ninja just rake ant bazel',
  'sbt lein vagrant ansible ansible-playbook zip tar rsync rm rmdir kill pkill killall',
);
/** Programs that write whatever file they are told to, or set what later commands go by. */
const writesAnything = set(
  'cd pushd popd dd tee sponge cp mv ln link install truncate shred split csplit sort shuf uniq patch printf',
  'export declare typeset local readonly read mapfile readarray unset set shopt let chmod chown chgrp chattr setfacl curl wget scp sftp ftp gpg',
  'openssl yq gzip gunzip bzip xz zstd unzip 7z cpio pax ar base64 objcopy gcc cc clang ld',
);

/**
 * How the commands begin that "always allow" may let through together with this one; `undefined` when only the very same
 * may be: what runs code that it is given, or writes any file, has no harmless prefix.
 */
export function rulePrefix(words: readonly BashWord[]): string | undefined {
  const [name, first, second] = words.slice(0, 3).map(plainText);
  if (name === undefined || isIn(name, readsCode, runsAnything, writesAnything)) return undefined;
  if (!withSubcommand.has(baseName(name))) return name;
  if (first === undefined || first.startsWith('-')) return undefined;
  const isNested = first === 'compose' || (first === 'run' && runsScripts.has(baseName(name)));
  const deciding = isNested ? second : first;
  if (deciding === undefined || deciding.startsWith('-') || runsBehind.has(deciding)) return undefined;
  if (isIn(deciding, readsCode, runsAnything)) return undefined;
  return [name, first, ...(isNested ? [deciding] : [])].join(' ');
}

/** A word that means in a rule what it means in the command. */
function plainText(word: BashWord): string | undefined {
  return word.value !== undefined && /^[\w@./:+-]+$/.test(word.raw) ? word.value : undefined;
}

const baseName = (name: string): string => name.replace(/^.*\//, '');

/** `python3.12` is Python. */
const withoutVersion = (name: string): string => baseName(name).replace(/(?<=.)-?\d[\d.]*$/, '');

const isIn = (name: string, ...sets: ReadonlySet<string>[]): boolean =>
  [baseName(name), withoutVersion(name)].some((one) => sets.some((names) => names.has(one)));

/** Options behind which a program's code stands, or a module or file that has it. */
const givesCode =
  /^-(?:-(?:command|eval|exec|execute|expression|print|file|module|version|help)\b|[A-Za-z]*[cefmnprVE])/;

/** Whether an interpreter may take its code from its input: nothing else in its words says what it runs. */
export function mayReadCode(words: readonly BashWord[]): boolean {
  const [name, ...rest] = words.map((word) => word.value);
  if (name === undefined || !isIn(name, readsCode)) return false;
  if (rest.some((text) => text !== undefined && /^(?:-|-[A-Za-z]*s|\/(?:dev|proc)\/.*)$/.test(text))) return true;
  return rest.every((text) => text?.startsWith('-') === true && !givesCode.test(text));
}
