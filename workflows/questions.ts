import { type ChildWorkflowHandle, condition, log, setHandler } from '@temporalio/workflow';
import type { Sha } from '../src/shapes/ids.ts';
import type { JobState } from '../src/shapes/job.ts';
import type { LadderEnd } from '../src/shapes/ladder.ts';
import type { Mode } from '../src/shapes/permission.ts';
import type { Answer, OpenPrompt, Prompt } from '../src/shapes/prompt.ts';
import { climb } from './ladder.ts';
import * as messages from './messages.ts';
import { oneByOne } from './one-by-one.ts';
import { addRules, type notify, saveRule, tellHooks, updatePermissions } from './steps.ts';
import type { turn } from './turn.ts';

export type TurnHandle = ChildWorkflowHandle<typeof turn>;
/** Passes something on to the running turn. One that has just ended gets the same from its successor's state. */
export type Tell = (send: (running: TurnHandle) => Promise<void>) => void;
/** Answers and their fates that a job remembers. */
const KEPT = 100;
/** The place of a prompt in the order of asking, from its id. */
const asNumber = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1));

/** The questions of a job, and what their answers change. */
export type Questions = {
  /** Begins to take questions up the ladder; it never throws and ends with the job. */
  climb(): void;
  /** Forgets those that are open: nobody waits for them any more. */
  drop(): void;
  /** Why nobody's answer ended the job. */
  unanswered(): string | undefined;
  /** Resolves when no change of permissions is on its way any more. */
  settled(): Promise<void>;
};

/** What it needs of the desk that it stands at. */
type Line = { tell: Tell; aside(input: Parameters<typeof notify>[0]): void; publish(): void; isIdle(): boolean };

/** Registers the doors by which turns ask, people and ladders answer, and hooks change permissions. */
export function listenToQuestions(id: string, s: JobState, config: Sha, line: Line): Questions {
  let changes = 0; // of the open questions
  let unanswered: string | undefined;
  const inTurn = oneByOne('rules-in-turn'); // changes of the rules: each starts from what the last came to
  let updates = 0; // that hooks asked for and that are not made yet
  setHandler(messages.prompted, ask);
  setHandler(messages.withdrawn, withdraw);
  setHandler(messages.answerPermission, take);
  setHandler(messages.updated, (asked) => {
    updates += 1;
    void inTurn(() => update(asked)).finally(() => {
      updates -= 1;
    });
  });
  return {
    climb: () => void climb(s, { changes: () => changes, over }),
    drop() {
      s.prompts = [];
      changes += 1;
    },
    unanswered: () => unanswered,
    settled: () => condition(() => updates === 0),
  };

  function ask(prompt: Prompt): void {
    if (s.prompts.some((known) => known.key === prompt.key)) return;
    const open: OpenPrompt = { ...prompt, id: `${id}:${++s.asked}` };
    s.prompts.push(open);
    changes += 1;
    line.publish();
    if (s.notifies)
      tellHooks({ agent: s.agent, prompt: open }).catch((error: unknown) =>
        log.warn('hooks were not told', { error: String(error) }),
      );
    const { key, tool, brief, since } = prompt;
    line.aside({ event: { kind: 'prompt.opened', id: open.id, key, tool, brief, since } });
    const early = s.early.find((answer) => answer.id === open.id);
    s.early = s.early.filter((answer) => answer !== early);
    if (early) take(early);
  }

  /** First answer wins; later ones are told so by `view`; answers to what was not asked yet are kept. */
  function take(answer: Answer): void {
    const prompt = s.prompts.find((open) => open.id === answer.id);
    if (!prompt && asNumber(answer.id) > s.asked) {
      s.early = [...s.early, answer].slice(-KEPT);
      return;
    }
    const { behavior, by } = answer;
    const record = { id: answer.id, behavior, used: prompt !== undefined, at: Date.now(), ...(by ? { by } : {}) };
    s.answers = [...s.answers, record].slice(-KEPT);
    const { message } = answer;
    line.aside({
      event: {
        kind: 'prompt.answered',
        id: answer.id,
        behavior,
        used: record.used,
        by,
        ...(message ? { message } : {}),
      },
    });
    if (!prompt) return;
    close(prompt);
    line.tell((running) => running.signal(messages.answer, { ...answer, id: prompt.key }));
    if (behavior === 'allow-always') void inTurn(() => widen(prompt, answer));
    if (behavior !== 'deny' && answer.save) void keepRules(prompt, answer);
  }

  function close(prompt: OpenPrompt): void {
    s.prompts = s.prompts.filter((open) => open !== prompt);
    changes += 1;
    line.publish();
  }

  /** A rule that came meanwhile, or the end of its call, has answered it. */
  function withdraw({ key, text }: { key: string; text: string }): void {
    const prompt = s.prompts.find((open) => open.key === key);
    if (!prompt) return;
    close(prompt);
    line.aside({ event: { kind: 'prompt.withdrawn', id: prompt.id, text } });
  }

  /** Nobody has answered in time. */
  function over(prompt: OpenPrompt, then: LadderEnd): void {
    if (then !== 'fail') return take({ id: prompt.id, behavior: 'deny', by: 'the ladder', unanswered: then });
    unanswered = `Nobody answered the question ${prompt.id} in time: ${prompt.tool} ${prompt.brief}`;
    close(prompt);
    line.aside({
      event: { kind: 'prompt.withdrawn', id: prompt.id, text: 'nobody answered in time, so the job fails' },
    });
    line.tell((running) => running.signal(messages.stop, { why: 'unanswered' }));
  }

  /** What hooks give with their answer holds as what a person gives. The call that brought it waits for the news, also for that nothing changed. */
  async function update(asked: messages.PermissionsUpdated): Promise<void> {
    let mode: Mode | undefined;
    try {
      const made = await updatePermissions({ agent: s.agent, rules: s.rules, config, ...asked });
      s.rules = made.sha;
      mode = made.mode;
    } catch (error) {
      log.warn('permissions could not be changed', { error: String(error) });
    }
    s.rulesRev += 1;
    if (mode && line.isIdle() && s.last) s.last.ctx.mode = mode;
    const { rules: sha, rulesRev: rev } = s;
    line.tell((running) => running.signal(messages.rules, { sha, rev, ...(mode ? { mode } : {}) }));
  }

  /** A rule that a person gave holds for the whole job: every call that waits walks its chain again. */
  async function widen(prompt: OpenPrompt, answer: Answer): Promise<void> {
    try {
      const { sha } = await addRules({
        rules: s.rules,
        prompt: prompt.body,
        ...(answer.rules ? { add: answer.rules } : {}),
      });
      if (sha === s.rules) return;
      s.rules = sha;
      s.rulesRev += 1;
      const { rulesRev: rev } = s;
      line.tell((running) => running.signal(messages.rules, { sha, rev }));
    } catch (error) {
      log.warn('a rule could not be added', { error: String(error) });
    }
  }

  async function keepRules(prompt: OpenPrompt, { rules: add }: Answer): Promise<void> {
    try {
      await saveRule({ agent: s.agent, rules: s.rules, prompt, ...(add ? { add } : {}) });
    } catch (error) {
      log.warn('a rule could not be kept', { error: String(error) });
    }
  }
}
