import { gitSubcommand } from './bash-git.ts';
import { bringsOptions, firstText, optionValues } from './bash-options.ts';
import { runOfCode, unknownRun, type ToldRun } from './bash-told.ts';
import { isTameProgram } from './bash-variables.ts';
import { plainWord, type BashWord } from './bash-words.ts';

type Words = readonly BashWord[];

/** Options by which a subcommand is told a program. `code`: the value is shell code as it stands. Git takes unique beginnings of them. */
const told: ReadonlyMap<string, { long: readonly string[]; short?: RegExp; code?: true }> = new Map([
  ['rebase', { long: ['--exec'], short: /^-[a-wyzA-Z]*x/, code: true }],
  ['difftool', { long: ['--extcmd'], short: /^-[a-wyzA-Z]*x/ }],
  ['grep', { long: ['--open-files-in-pager'], short: /^-[a-zA-Z]*O/ }],
  ['clone', { long: ['--upload-pack', '--template'], short: /^-[a-tv-zA-Z]*u/ }],
  ['init', { long: ['--template'] }],
  ['fetch', { long: ['--upload-pack'] }],
  ['pull', { long: ['--upload-pack'] }],
  ['fetch-pack', { long: ['--upload-pack', '--exec'] }],
  ['ls-remote', { long: ['--upload-pack', '--exec'] }],
  ['push', { long: ['--receive-pack', '--exec'] }],
  ['send-pack', { long: ['--receive-pack', '--exec'] }],
  ['archive', { long: ['--exec'] }],
  ['svn', { long: ['--authors-prog'] }],
  ['send-email', { long: ['--to-cmd', '--cc-cmd', '--header-cmd', '--sendmail-cmd', '--smtp-server'] }],
]);

/** Subcommands that run whatever stands in their words or their input. */
const runsAnything = /^(?:filter-branch|filter-repo|remote-ext|for-each-repo|hook|instaweb|web--browse|shell|daemon)$/;

/** Everything that the words of a git command make it run. */
export function gitRuns(words: Words): ToldRun[] {
  const rest = gitSubcommand(words);
  const front = words.slice(1, words.length - rest.length);
  const [subcommand, ...args] = rest;
  const name = subcommand?.value;
  if (subcommand && (name === undefined || subcommand.splits)) return [unknownRun('what git does is computed')];
  return [...frontRuns(front), ...(name === undefined ? [] : subcommandRuns(name, args))];
}

/** Whether one more word could tell git what to run. That of `git grep` is taken for a name of a file. */
export function gitTakesProgram(words: Words): boolean {
  const [subcommand] = gitSubcommand(words);
  const name = subcommand?.value;
  return (
    name === undefined ||
    (name !== 'grep' && told.has(name)) ||
    /^(?:bisect|submodule|config|merge-index|mergetool)$/.test(name)
  );
}

/** Options in front of the subcommand: settings for this one command, and where git finds its own programs. */
function frontRuns(front: Words): ToldRun[] {
  return front.flatMap((word, i): ToldRun[] => {
    const before = front[i - 1]?.value;
    const text = firstText(word);
    if (before === '-c') return settingRuns(text, word.value);
    if (before === '--config-env') return settingRuns(text, undefined);
    if (text.startsWith('--config-env=')) return settingRuns(text.slice(13), undefined);
    return text.startsWith('--exec-path=') ? [unknownRun('git finds its own programs elsewhere')] : [];
  });
}

function subcommandRuns(name: string, args: Words): ToldRun[] {
  if (runsAnything.test(name)) return [unknownRun(`git ${name} runs what it is given`)];
  if (name === 'bisect') return bisectRuns(args);
  if (name === 'merge-index')
    return commandRuns(args.slice(args.filter((word) => /^-[oq]$/.test(firstText(word))).length));
  if (name === 'difftool' || name === 'mergetool') return [...toolRuns(name, args), ...toldRuns(name, args)];
  if (name === 'submodule') return foreachRuns(args);
  if (name === 'config' || name === 'clone') return [...setRuns(name, args), ...toldRuns(name, args)];
  return toldRuns(name, args);
}

function commandRuns(words: Words): ToldRun[] {
  return words.length > 0 ? [{ kind: 'command', words }] : [];
}

/** `run` takes a command; what shows the commits left takes another subcommand of git, or a program of that name. */
function bisectRuns([first, ...args]: Words): ToldRun[] {
  if (first?.value === 'run') return commandRuns(args);
  const shown = args[0] && firstText(args[0]);
  if (!/^(?:visualize|view)$/.test(first?.value ?? '') || shown === undefined || shown.startsWith('-')) return [];
  return commandRuns(/^(?:git|tig)/.test(shown) ? args : [plainWord('git'), ...args]);
}

/** A tool is the name of a file that git's own shell reads. */
function toolRuns(name: string, args: Words): ToldRun[] {
  return optionValues(args, { long: ['tool'], short: 't', valued: 'x' }).every((word) =>
    /^[\w.-]+$/.test(word.value ?? ''),
  )
    ? []
    : [unknownRun(`git ${name} is told a program`)];
}

/** One word behind `foreach` is shell code, several are a command. */
function foreachRuns(args: Words): ToldRun[] {
  const at = args.findIndex((word) => word.value === 'foreach');
  if (at < 0) return [];
  const start = args.findIndex((word, i) => i > at && !/^(?:--recursive|--quiet|-q|--)$/.test(word.value ?? ''));
  const inner = start < 0 ? [] : args.slice(start);
  const [first] = inner;
  if (!first) return [];
  return inner.length > 1 && !first.splits
    ? [{ kind: 'command', words: inner }]
    : [runOfCode(first.splits ? undefined : first.value, 'submodule')];
}

/** Settings that are written for later commands, or for the new repository. */
function setRuns(name: string, args: Words): ToldRun[] {
  if (name === 'clone')
    return optionValues(args, { long: ['config'], short: 'c', valued: 'bjou' }).flatMap((word) =>
      settingRuns(firstText(word), word.value),
    );
  if (args.some((word) => /^(?:--ren|rename-section$)/.test(firstText(word))))
    return [unknownRun('settings of git get another meaning')];
  return args.flatMap((word, i): ToldRun[] => {
    const value = args[i + 1];
    const isFile =
      /^(?:-f|--file)$/.test(args[i - 1]?.value ?? '') && !(args[i - 2] && firstText(args[i - 2]!).startsWith('--'));
    if (isFile) return [];
    return value
      ? settingRuns(`${firstText(word)}=`, value.value === undefined ? undefined : `=${value.value}`, true)
      : [];
  });
}

function toldRuns(name: string, args: Words): ToldRun[] {
  const { long, short, code } = told.get(name) ?? { long: [] };
  if ((long.length > 0 || short) && args.some(bringsOptions))
    return [unknownRun(`an option of git ${name} is computed`)];
  return args.flatMap((word, i): ToldRun[] => {
    const written = firstText(word);
    // Its options may have one dash only, and capitals.
    const text = name === 'send-email' ? written.toLowerCase().replace(/^-(?=[^-].)/, '--') : written;
    const [option] = text.split('=');
    const isLong = option!.length > 2 && !/^--(?:to|cc)$/.test(option!) && long.some((one) => one.startsWith(option!));
    const letters = text.startsWith('--') ? undefined : short?.exec(text)?.[0];
    if (!isLong && letters === undefined) return [];
    if (!code) return [unknownRun(`git ${name} is told a program`)];
    const attached = isLong
      ? text.includes('=') && option!.length + 1
      : text.length > letters!.length && letters!.length;
    return [
      runOfCode(attached ? word.value?.slice(attached) : args[i + 1]?.splits ? undefined : args[i + 1]?.value, name),
    ];
  });
}

/** Sections whose settings name no program and no further file. */
const plainSection =
  /^(?:user|author|committer|color|advice|branch|fetch|push|pull|tag|commit|log|status|gc|pack|index|transfer|receive|http|https|safe|feature|maintenance|rerere|column|i18n|format|grep|blame|checkout|clean|notes|stash|worktree|extensions|lfs|versionsort|apply|am|merge|rebase|diff|show|init|protocol|url|submodule|remote|credential|core|gpg)\./i;
const namesProgram =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand|attributesfile)|diff\.(?:external|.+\.(?:command|textconv))|merge\..+\.driver|gpg\.(?:program|.+\.(?:program|defaultkeycommand))|credential\.(?:.*\.)?helper|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)|submodule\..+\.update|init\.templatedir|protocol\.(?:.+\.)?allow|url\.ext::.*)$/i;

/** What one setting `key=value` may run. `text`: as far as it is known; `stored`: a word that need not be a setting. */
function settingRuns(text: string, whole: string | undefined, stored = false): ToldRun[] {
  const equals = text.indexOf('=');
  const key = equals < 0 ? text : text.slice(0, equals);
  if (whole === undefined && equals < 0) return [unknownRun('a setting of git is computed')];
  if (stored && !/^[a-z][\w-]*\..*[a-z]/i.test(key)) return [];
  if (plainSection.test(key) && !namesProgram.test(key)) return [];
  const value = whole?.slice(whole.indexOf('=') + 1);
  return isTameProgram(value) ? [] : [unknownRun(`the setting ${key} of git may name a program`)];
}
