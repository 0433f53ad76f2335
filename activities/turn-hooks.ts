import { hooksDir, turnDir } from '../src/core/paths.ts';
import type { Note } from '../src/shapes/call.ts';
import type { ModelInput } from '../src/shapes/model.ts';
import { hookNote, type HookSite, runHooks } from './hook-stage.ts';
import type { TurnPlace } from './place.ts';
import { readText } from './read-blob.ts';

/** Stop hooks that may keep a turn going in a row when nobody says otherwise. */
const STOP_BLOCKS = 8;

/** Where in its turn a model call is, and what ends it. */
type Where = { place: TurnPlace & { step: number }; input: ModelInput; signal: AbortSignal };

/**
 * What people wrote, as far as UserPromptSubmit hooks let it through, with what they have to add. `refused`: why something
 * was kept back; `stop`: the turn ends here.
 */
export type Submitted = { notes: Note[]; refused?: string; stop?: string };

/** Lets hooks look at what people wrote, before it is in the transcript. Throws the cancel that cut them: then nothing was taken. */
export async function submittedNotes(site: HookSite, where: Where): Promise<Submitted> {
  const submitted: Submitted = { notes: [] };
  for (const note of where.input.append ?? []) {
    if (note.kind !== 'prompt' && note.kind !== 'message') {
      submitted.notes.push(note);
      continue;
    }
    const verdict = await turnHooks(site, where, {
      event: 'UserPromptSubmit',
      name: `UserPromptSubmit.${site.hosts.sha(note.id).slice(0, 16)}`,
      fields: { prompt: await readText(site.files.blobs, note.body) },
    });
    if (!verdict) throw where.signal.reason;
    if (verdict.stop !== undefined) submitted.stop ??= verdict.stop;
    if (verdict.decision === 'block') {
      submitted.refused ??= verdict.reason ?? '';
      continue;
    }
    const context = await hookNote(site, `${note.id}.hooks`, [{ event: 'UserPromptSubmit', verdict }]);
    submitted.notes.push(note, ...(context ? [context] : []));
  }
  return submitted;
}

/** Whether all that there was to say was kept back. */
export function isSilenced({ notes, refused }: Submitted, { results, after }: ModelInput): boolean {
  return refused !== undefined && !results && !after && notes.every((note) => note.kind === 'reminder');
}

/** What Stop hooks make of an answer: it stands, or the turn goes on with what they have to say. Undefined: they were cut. */
export async function stopHooks(
  site: HookSite,
  where: Where,
  answer: string,
): Promise<{ kind: 'stands' } | { kind: 'goes_on'; note: Note } | undefined> {
  const { stopBlocks } = where.input;
  const { step, turn } = where.place;
  const fields = { stop_hook_active: stopBlocks !== undefined, last_assistant_message: answer };
  const verdict = await turnHooks(site, where, { event: 'Stop', name: `Stop.${step}`, fields });
  if (!verdict) return undefined;
  const { stop, decision, reason, contexts } = verdict;
  const said = [...(decision === 'block' ? [reason ?? ''] : []), ...contexts];
  if (stop !== undefined || said.length === 0) return { kind: 'stands' };
  const cap = Number(site.agent.env['CLAUDE_CODE_STOP_HOOK_BLOCK_CAP'] ?? STOP_BLOCKS);
  if (cap > 0 && (stopBlocks ?? 0) >= cap) {
    const text = `kept the turn going ${stopBlocks} times in a row and is not heard any more`;
    const event = { kind: 'hook.ended', event: 'Stop', hook: 'all', status: 'error', ms: 0, text } as const;
    site.files.events.write({ at: site.hosts.now(), ...event, turn, step });
    return { kind: 'stands' };
  }
  const note = await hookNote(site, `stop.${turn}.${step}`, [
    { event: 'Stop', verdict: { ...verdict, contexts: said } },
  ]);
  return note ? { kind: 'goes_on', note } : { kind: 'stands' };
}

/** Tells hooks that the model could not be asked; they change nothing. */
export async function stopFailureHooks(site: HookSite, where: Where, error: string): Promise<void> {
  const kind = kindOf(error);
  const { step } = where.place;
  await turnHooks(site, where, {
    event: 'StopFailure',
    name: `StopFailure.${step}.${where.input.try ?? 0}`,
    about: [kind],
    fields: { error: kind, error_details: error, last_assistant_message: error },
  });
}

function kindOf(error: string): string {
  if (/not_found_error|\b404\b/.test(error)) return 'model_not_found';
  return /invalid_request_error|too long|\b4\d\d\b/.test(error) ? 'invalid_request' : 'unknown';
}

type Turn = { event: 'UserPromptSubmit' | 'Stop' | 'StopFailure'; name: string; about?: string[]; fields: object };

function turnHooks(site: HookSite, { place, input, signal }: Where, { event, name, about = [], fields }: Turn) {
  const { turn, step } = place;
  return runHooks(site, {
    event,
    dir: hooksDir(turnDir(turn), name),
    about,
    fields: { ...fields },
    cwd: input.ctx.cwd ?? site.agent.dir,
    ...(input.ctx.mode ? { mode: input.ctx.mode } : {}),
    place: { turn, step },
    signal,
  });
}
