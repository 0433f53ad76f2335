import { parse, type CommandNode, type CompoundList, type PipelineNode, type Script } from 'unbash';

/** Programs whose exit code 1 means no more than "nothing found" or "they differ". */
const ANSWERS_WITH_ONE = new Set(['grep', 'rg', 'egrep', 'fgrep', 'find', 'diff', 'test', '[']);
const GIT_ANSWERS = new Set(['diff', 'grep']);
/** Options of git itself that take the next word as their value. */
const GIT_VALUE_OPTIONS = new Set(['-C', '-c', '--git-dir', '--work-tree', '--namespace', '--exec-path']);
/** What may stand before such a program in an `&&` list: its own failure is seldom and says what it is. */
const HARMLESS = new Set(['cd', 'pushd', 'popd', 'echo', 'printf', 'true', ':', 'export']);

/** Whether a command that ended with this code did not fail: code 0, or code 1 that comes from a program which answers with it. */
export function exitIsFine(command: string, code: number): boolean {
  if (code === 0) return true;
  return code === 1 && endsWithAnswer(command);
}

function endsWithAnswer(command: string): boolean {
  const script = parse(command);
  // With `set -e` or `pipefail` the code may come from any part of the command.
  return !script.errors?.length && !/\bset\s+[-+]|\bshopt\b/.test(command) && listAnswers(script);
}

function listAnswers(list: Script | CompoundList): boolean {
  const last = list.commands.at(-1);
  if (last === undefined || last.background) return false;
  return nodeAnswers(last.command);
}

function nodeAnswers(
  node: PipelineNode | { type: 'AndOr'; commands: readonly PipelineNode[]; operators: readonly string[] },
): boolean {
  switch (node.type) {
    case 'AndOr':
      return andOrAnswers(node.commands, node.operators);
    case 'Pipeline': {
      if (node.prefixes.some((prefix) => prefix.type === 'Negation')) return false;
      const last = node.commands.at(-1);
      return last !== undefined && commandAnswers(last);
    }
    default:
      return commandAnswers(node);
  }
}

/** The code of `a && b` may be that of `a`; the code of `a || b` is that of `b` when it is not 0. */
function andOrAnswers(commands: readonly PipelineNode[], operators: readonly string[]): boolean {
  const last = commands.at(-1);
  if (last === undefined || !nodeAnswers(last)) return false;
  const afterOr = operators.lastIndexOf('||') + 1;
  return commands.slice(afterOr, -1).every((node) => nodeAnswers(node) || isHarmless(node));
}

function commandAnswers(node: CommandNode): boolean {
  switch (node.type) {
    case 'TestCommand':
      return true;
    case 'Subshell':
    case 'BraceGroup':
      return listAnswers(node.body);
    case 'Redirected':
      return commandAnswers(node.command);
    case 'Command': {
      const name = programOf(node);
      return ANSWERS_WITH_ONE.has(name) || (name === 'git' && GIT_ANSWERS.has(gitCommand(node)));
    }
    default:
      return false;
  }
}

type SimpleCommand = Extract<CommandNode, { type: 'Command' }>;

function programOf(node: SimpleCommand): string {
  return (node.name?.value ?? '').replace(/^.*\//, '');
}

function gitCommand(node: SimpleCommand): string {
  const words = node.args.flatMap((word) => (word.type === 'Word' ? [word.value] : []));
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i]!;
    if (GIT_VALUE_OPTIONS.has(word)) i += 1;
    else if (!word.startsWith('-')) return word;
  }
  return '';
}

function isHarmless(node: PipelineNode): boolean {
  return node.type === 'Command' && HARMLESS.has(programOf(node));
}
