/** Variables that change how a program talks, not what it runs. */
const safe = new Set(
  'NODE_ENV LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM TERM COLUMNS LINES CI DEBUG RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING GOOS GOARCH CGO_ENABLED GIT_TERMINAL_PROMPT'.split(
    ' ',
  ),
);

/** Whether an allow rule looks past an assignment of this variable. */
export function isSafeVariable(name: string): boolean {
  return safe.has(name);
}

/** Whether a loop may set this variable without changing what programs do. */
export function isLoopVariable(name: string): boolean {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !/_proxy$|^histchars$|^auto_resume$/.test(name);
}

/** Variables whose content bash runs, reads commands from, or takes for the meaning of a name. */
const run = /^(?:PS4|PROMPT_COMMAND|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_CMDS|BASH_ALIASES|BASH_FUNC_.*)$/;
/** Variables that bash computes with whatever they are given. */
const computed = /^(?:RANDOM|SRANDOM|SECONDS|OPTIND|HISTCMD|LINENO|BASHPID|EPOCHSECONDS|EPOCHREALTIME|BASH_SUBSHELL)$/;

/** Variables that name a program for git and its like, or a configuration that does. */
const program =
  /^(?:GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|ALLOW_PROTOCOL|CONFIG|CONFIG_(?:GLOBAL|SYSTEM|COUNT|PARAMETERS|KEY_.*|VALUE_.*))|(?:SSH|SUDO)_ASKPASS|EDITOR|VISUAL|FCEDIT|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|TAR_OPTIONS)$/;
const shows = /^(?:|cat|true|false|none|:|\/dev\/null|(?:less|more|vi|vim|nvim|nano|emacs)(?: -\w+)*|code --wait)$/;
const connects =
  /^ssh(?: -(?:[1246aCqTvx]+|[iFlp] [\w.~/@-]+|o ?(?:StrictHostKeyChecking|BatchMode|IdentitiesOnly|ConnectTimeout|UserKnownHostsFile)=[\w./~-]+))*$/;

/** Whether what is started as the program of that text neither runs another one nor is one that a rule would look at. */
export function isTameProgram(text: string | undefined): boolean {
  return text !== undefined && (shows.test(text) || connects.test(text));
}

/** Why giving a variable a value may run something; `value` is absent when it is not known. */
export function variableDoubt(name: string, value: string | undefined): string | undefined {
  if (run.test(name)) return `bash runs what stands in ${name}`;
  if (program.test(name) && !isTameProgram(value)) return `${name} names a program`;
  return computed.test(name) && !/^\d+$/.test(value ?? '') ? `bash computes what ${name} is given` : undefined;
}
