import type { HereDoc, HereString, Redirection } from 'unbash';
import { readWord } from './bash-words.ts';

/** What a shell reads as its commands. `whole`: that is all of it, and nothing else can come in its place. */
export type ShellInput = { texts: readonly string[]; whole: boolean };

/** The texts that redirections give a shell to read. What stands in a file, a pipe or another descriptor is not known. */
export function shellInput(redirects: readonly Redirection[], assigned: ReadonlySet<string>): ShellInput {
  const here = redirects.filter((item) => item.type === 'HereDoc' || item.type === 'HereString');
  const known = here.map((item) => textOf(item, assigned));
  const texts = known.filter((text) => text !== undefined);
  const [only] = here;
  const plain = only !== undefined && (only.descriptor === undefined || isInput(only));
  const others = redirects.some((item) => item.type === 'Redirect' && (item.operator.startsWith('<') || isInput(item)));
  return { texts, whole: plain && !others && here.length === 1 && texts.length === 1 };
}

function isInput({ descriptor }: Redirection): boolean {
  return descriptor?.type === 'FileDescriptor' && descriptor.value === 0;
}

function textOf(item: HereDoc | HereString, assigned: ReadonlySet<string>): string | undefined {
  if (item.type === 'HereDoc') return item.body.parts ? undefined : item.body.text;
  return item.target && readWord(item.target, assigned).value;
}
