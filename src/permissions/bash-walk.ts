import {
  forEachChild,
  parse,
  type Assignment,
  type Command,
  type ParsedScript,
  type SyntaxNode,
  type Word,
} from 'unbash';
import { programName, type BashAnalysis, type BashCommand, type BashRedirect, type Folders } from './bash-analysis.ts';
import { readWord, wordOf, type BashWord } from './bash-words.ts';
import { arithmeticIsPlain, expansionDoubt, namesDoubt, testDoubt } from './bash-doubts.ts';
import { shellInput } from './bash-input.ts';
import { isLoopVariable, isSafeVariable, variableDoubt } from './bash-variables.ts';
import { unwrap } from './bash-wrappers.ts';

type Findings = Omit<BashAnalysis, 'command'>;

const deepest = 40;
const nothingFound: Findings = { unclear: [], commands: [], redirects: [], processSubstitution: false, empty: false };
/** Commands, and words of all of them, that are still worth the time to check. */
const mostCommands = 300;
const mostWords = 2000;
const reserved = new Set([
  '!',
  '{',
  '}',
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'for',
  'while',
  'until',
  'do',
  'done',
  'case',
  'esac',
  'in',
  'select',
  'function',
  'coproc',
  '[[',
  ']]',
]);
const wandersFrom = new Set(['For', 'Select', 'While', 'ArithmeticFor', 'Function']);

/** Collects every command that a script may run and every file that bash opens for it, also inside substitutions, loops and inner shells. */
export function walkScript(script: ParsedScript, source: string): Findings {
  const assigned = new Set(/(?<![\w$])(?<!\$\{)(?:HOME|PWD)\b/.test(source) ? ['HOME', 'PWD'] : []);
  const commands: BashCommand[] = [];
  const redirects: BashRedirect[] = [];
  const unclear = new Set<string>();
  let processSubstitution = false;
  let problem: string | undefined;
  let wanders = /\bCDPATH\b/.test(source);
  let text = source;
  let folders: Folders = [[]];
  let role: BashCommand['role'] = 'run';
  let background = false;
  let depth = 0;
  let moved: BashWord | undefined;

  visit(script);
  const words = commands.reduce((sum, command) => sum + command.words.length, 0);
  if (commands.length > mostCommands || words > mostWords || redirects.length > mostCommands)
    return { ...nothingFound, problem: 'the command has too many parts' };
  const settle = <T extends { folders: Folders }>(item: T): T => (wanders ? { ...item, folders: 'unknown' } : item);
  return {
    ...(problem === undefined ? {} : { problem }),
    unclear: [...unclear],
    commands: commands.map(settle),
    redirects: redirects.map(settle),
    processSubstitution,
    empty: script.commands.length === 0,
  };

  function visit(node: SyntaxNode): void {
    if (wandersFrom.has(node.type)) {
      const before = folders;
      look(node);
      wanders ||= folders !== before;
      return;
    }
    look(node);
  }

  function look(node: SyntaxNode): void {
    switch (node.type) {
      case 'Script':
        return enter(node);
      case 'Statement':
        return node.background ? apart(() => inBackground(node.command)) : visit(node.command);
      case 'Pipeline':
        if (node.commands.length < 2) return children(node);
        return node.commands.forEach((part) => apart(() => visit(part)));
      case 'AndOr':
        return chain(
          node.commands,
          node.operators.every((operator) => operator === '&&'),
        );
      case 'Subshell':
        return apart(() => children(node));
      case 'CommandExpansion':
      case 'ArithmeticCommandExpansion':
        return apart(() => children(node));
      case 'ProcessSubstitution':
        processSubstitution = true;
        return apart(() => children(node));
      case 'Redirected':
        node.redirects.forEach(visit);
        return visit(node.command);
      case 'Command':
        children(node);
        return command(node);
      case 'Redirect':
        children(node);
        return redirect(node.operator, node.target);
      case 'FileDescriptorVariable':
        return doubt('a redirection sets a variable');
      case 'For':
      case 'Select':
        if (!isLoopVariable(node.name.value)) doubt(`a loop sets ${node.name.text}`);
        return children(node);
      case 'Function':
        doubt('the command defines a function');
        return children(node);
      case 'Coproc':
        doubt('the command starts a coprocess');
        return children(node);
      case 'Word':
        if (node.parts && node.parts.length > 1 && node.parts.some((part) => part.type === 'ProcessSubstitution'))
          doubt('a process substitution is part of a word');
        return children(node);
      case 'Assignment':
        if (node.index || node.value.type === 'ArrayValue') doubt('the command sets an array');
        doubt(variableDoubt(node.name, node.value.type === 'Word' ? readWord(node.value, assigned).value : undefined));
        return children(node);
      case 'ParameterExpansion':
        doubt(expansionDoubt(node));
        return children(node);
      case 'ArithmeticWord':
        if (!arithmeticIsPlain(node)) doubt('arithmetic may run commands that stand in a variable');
        return children(node);
      case 'TestUnary':
      case 'TestBinary':
        doubt(testDoubt(node));
        return children(node);
      default:
        return children(node);
    }
  }

  function children(node: SyntaxNode): void {
    forEachChild(node, visit);
  }

  function doubt(why: string | undefined): void {
    if (why !== undefined) unclear.add(why);
  }

  function enter(node: ParsedScript): void {
    if (node.errors && node.errors.length > 0) problem ??= `the command can't be parsed: ${node.errors[0]!.message}`;
    if (++depth > deepest) throw new RangeError('nested too deeply');
    const outer = text;
    text = node.source ?? text;
    children(node);
    text = outer;
    depth--;
  }

  /** What happens in a process of its own changes no folder for what follows. */
  function apart(run: () => void): void {
    const before = folders;
    run();
    folders = before;
  }

  function inBackground(node: SyntaxNode): void {
    const before = background;
    background = true;
    visit(node);
    background = before;
  }

  /** After `cd x &&` the folder is `x` for sure; anything else may have failed and gone on. */
  function chain(nodes: readonly SyntaxNode[], onlyAnd: boolean): void {
    const start = folders;
    for (const node of nodes) {
      const before = folders;
      moved = undefined;
      visit(node);
      if (onlyAnd && node.type === 'Command' && moved !== undefined) folders = append(before, moved);
    }
    moved = undefined;
    if (folders !== start) folders = union(start, folders);
  }

  function command(node: Command): void {
    const assignments = node.prefix
      .filter((item): item is Assignment => item.type === 'Assignment')
      .map(readAssignment);
    const words = [...(node.name ? [node.name] : []), ...node.args].map((item) =>
      item.type === 'Word' ? readWord(item, assigned) : argument(item),
    );
    const { layers, beneath, fed, code, readsCode, exactOnly, unclear: why } = unwrap(words);
    why.forEach(doubt);
    nameDoubt(node.name, layers.at(-1) ?? []);
    commands.push({
      role,
      source: text.slice(node.pos, node.end),
      words,
      layers,
      beneath,
      fed,
      assignments,
      folders,
      background,
      exactOnly,
    });
    if (readsCode) codeFromInput(node);
    code.forEach((inner) => seeCode(inner, ['eval', 'trap'].includes(programName(layers.at(-1) ?? []) ?? '')));
    walkTo(layers.at(-1) ?? []);
  }

  function nameDoubt(name: Word | undefined, program: readonly BashWord[]): void {
    if (name && reserved.has(name.text)) problem ??= `${name.text} stands where a command is expected`;
    if (program.length === 0) return;
    const known = programName(program);
    if (known === undefined) doubt('the name of a program is computed');
    else if (!/^(?:\[|[\w./+:@%,~-]+)$/.test(known)) doubt('the name of a program has unusual characters');
    else if (known.startsWith('/proc/') || known.startsWith('/dev/'))
      doubt('what the name of a program leads to is not known');
    doubt(namesDoubt(program));
    if (known === 'let') doubt('arithmetic may run commands that stand in a variable');
  }

  function readAssignment(node: Assignment): { raw: string; safe: boolean } {
    const plain = node.value.type === 'Word' && !node.index && !node.append;
    return { raw: node.text, safe: plain && isSafeVariable(node.name) };
  }

  function argument(node: Assignment): BashWord {
    if (node.value.type !== 'Word') return wordOf(node.text, [{ kind: 'unknown' }], false);
    const value = readWord(node.value, assigned);
    return wordOf(node.text, [{ kind: 'text', text: `${node.name}=` }, ...value.pieces], false);
  }

  function redirect(operator: string, target: Word | undefined): void {
    if (!target) {
      problem ??= 'a redirection has no target';
      return;
    }
    const word = readWord(target, assigned);
    if ((operator === '>&' || operator === '<&') && /^(?:\d+-?|-)$/.test(word.value ?? '')) return;
    const reads = operator === '<' || operator === '<&';
    redirects.push({ use: reads ? 'read' : 'write', target: word, folders });
    if (operator === '<>') redirects.push({ use: 'read', target: word, folders });
  }

  function codeFromInput(node: Command): void {
    const { texts, whole } = shellInput(node.redirects, assigned);
    if (!whole) doubt('a shell reads its commands from its input');
    texts.forEach((one) => seeCode(one, false));
  }

  /** Code that another shell, or this one later, will run: looked at for what is forbidden. */
  function seeCode(code: string, here: boolean): void {
    const outer = { role, text, folders };
    role = 'seen';
    text = code;
    visit(parse(code));
    if (here && folders !== outer.folders) wanders = true;
    ({ role, text, folders } = outer);
  }

  function walkTo(program: readonly BashWord[]): void {
    const name = programName(program);
    if (name !== 'cd' && name !== 'pushd' && name !== 'popd') return;
    const target = program.slice(1).find((word) => !/^-[LPe@-]+$/.test(word.value ?? ''));
    const home = wordOf('~', [{ kind: 'home' }], false);
    moved = name === 'popd' || target?.value === '-' ? wordOf('-', [{ kind: 'unknown' }], false) : (target ?? home);
    folders = union(folders, append(folders, moved));
  }
}

function append(folders: Folders, word: BashWord): Folders {
  return folders === 'unknown' ? folders : folders.map((way) => [...way, word]);
}

function union(a: Folders, b: Folders): Folders {
  if (a === 'unknown' || b === 'unknown') return 'unknown';
  const all = [...new Set([...a, ...b])];
  return all.length > 16 ? 'unknown' : all;
}
