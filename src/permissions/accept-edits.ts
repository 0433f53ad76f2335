import { programName, programOf, type BashCommand } from './bash-analysis.ts';
import { filesOf } from './bash-files.ts';
import { placeOf } from './bash-paths.ts';
import { sedScriptIsPlain } from './bash-sed.ts';
import type { PermissionContext } from './call.ts';
import { isWithin, locate } from './locate.ts';

/** Options with which the file commands of `acceptEdits` do nothing but what they are named for. */
const options: ReadonlyMap<string, RegExp> = new Map([
  ['mkdir', /^(?:-[pv]+|--parents|--verbose)$/],
  ['touch', /^(?:-[acm]+|--no-create)$/],
  ['rm', /^(?:-[rRfvd]+|--recursive|--force|--verbose|--dir)$/],
  ['rmdir', /^(?:-[pv]+|--parents|--verbose|--ignore-fail-on-non-empty)$/],
  ['mv', /^(?:-[fnvu]+|--force|--no-clobber|--verbose|--update)$/],
  ['cp', /^(?:-[rRapfnvudPL]+|--recursive|--archive|--force|--no-clobber|--verbose|--update)$/],
  ['sed', /^(?:-[nErs]*i|-[nErs]+|--in-place|--quiet|--regexp-extended)$/],
]);

/** Whether a command is one of the file commands that `acceptEdits` covers, and touches only what lies in the working folders. */
export function isCoveredEdit(command: BashCommand, ctx: PermissionContext, directories: readonly string[]): boolean {
  const words = programOf(command);
  const name = programName(words);
  const allowed = name === undefined ? undefined : options.get(name);
  if (!allowed || command.exactOnly || command.layers.some((layer) => programName(layer) === 'xargs')) return false;
  if (command.assignments.some((assignment) => !assignment.safe)) return false;
  const args = words.slice(1);
  if (args.some((word) => word.value === undefined || word.splits)) return false;
  const end = args.findIndex((word) => word.value === '--');
  if (args.some((word, i) => word.value!.startsWith('-') && (end < 0 || i < end) && !allowed.test(word.value!)))
    return false;
  if (name === 'sed' && !sedIsPlain(args.map((word) => word.value!))) return false;
  const files = filesOf(words);
  return (
    files.length > 0 &&
    files.every((file) => {
      const place = placeOf(file.word, command.folders, ctx);
      return (
        place.kind === 'paths' &&
        place.paths.every((path) => isWithin(locate(path, ctx), [ctx.root, ...directories], ctx))
      );
    })
  );
}

function sedIsPlain(args: readonly string[]): boolean {
  const script = args.find((arg) => !arg.startsWith('-'));
  return script !== undefined && sedScriptIsPlain(script);
}
