import { join } from 'node:path';
import { describedRequest, type Finding, findingOf } from '../src/core/described.ts';
import { describedSpool } from '../src/core/paths.ts';
import { byteLength } from '../src/core/preview.ts';
import { analyse } from '../src/permissions/bash.ts';
import { decide } from '../src/permissions/chain.ts';
import type { Micros } from '../src/shapes/ids.ts';
import type { Agent } from '../src/shapes/job.ts';
import { factsOf } from './call-facts.ts';
import { at, type Checked, type Site } from './site.ts';

/** A small model's opinion on one call, asked for while the hooks have their say. */
export type SecondLook = {
  /** The description that covers this input; `undefined` when none clearly does. */
  fits(checked: Checked): Promise<{ description: string; model: string } | undefined>;
  /** Gives up what is still asked for, and says what all of it cost. */
  end(): Promise<Micros>;
};

/** A question is not held back for longer by a model that does not answer. */
const LIMIT_MS = 20_000;
/** What is longer is for a person to read. */
const MAX_COMMAND = 4_000;

type Look = { command: string; found: Promise<Finding | undefined>; cut: AbortController };

/**
 * Begins to ask, where the job has descriptions and nothing else would decide: a call that a rule, a mode, a safety check
 * or its tool decides is never shown to a model. `undefined`: there is nothing to ask.
 */
export function startSecondLook(site: Site, first: Checked): SecondLook | undefined {
  const { described } = site.agent;
  if (!described) return undefined;
  let spent: Micros = 0;
  let look = begin(first);
  return {
    async fits(checked) {
      const command = commandToShow(site, checked);
      if (command === undefined) return undefined;
      if (look?.command !== command) {
        look?.cut.abort();
        await look?.found;
        look = begin(checked);
      }
      const finding = await look?.found;
      return finding?.fits === undefined ? undefined : { description: finding.fits, model: described.model };
    },
    async end() {
      look?.cut.abort();
      await look?.found;
      return spent;
    },
  };

  function begin(checked: Checked): Look | undefined {
    const command = commandToShow(site, checked);
    if (command === undefined || !isOpen(site, checked)) return undefined;
    const cut = new AbortController();
    const found = ask(site, described!, command, cut.signal).then(
      (asked) => {
        spent = Math.max(spent, asked.spent); // one asking, however often: it always tells the whole
        return asked.finding;
      },
      () => undefined, // it never fails a call: then nobody has found anything
    );
    return { command, found, cut };
  }
}

/** What such a look cost whose pass nobody finished; who watches the job is told too. */
export async function costOfLostLook({
  hosts,
  files,
  place,
  agent,
}: Pick<Site, 'hosts' | 'files' | 'place' | 'agent'>): Promise<Micros> {
  if (!agent.described) return 0;
  const spent = await hosts.model.costOfLost(join(files.dir, spoolOf(place)), askingOf(place));
  const { model } = agent.described;
  const text = 'the worker died each time that it was asked';
  if (spent > 0)
    files.events.write({ at: hosts.now(), kind: 'call.described', ...at(place), model, fits: null, text, spent });
  return spent;
}

/** The command of a call, where it is one that can be understood; all else is for people. */
function commandToShow({ input, agent }: Site, { tool, input: parsed }: Checked): string | undefined {
  const access = tool.access(parsed, input.ctx.cwd ?? agent.dir);
  if (access.kind !== 'bash' || byteLength(access.command) > MAX_COMMAND) return undefined;
  const { problem, unclear } = analyse(access.command);
  return problem === undefined && unclear.length === 0 ? access.command : undefined;
}

/** Nothing decides it but the last question of the chain. */
function isOpen(site: Site, checked: Checked): boolean {
  const { call, context } = factsOf(site, checked);
  const { behavior, reason } = decide(call, site.rules, context);
  return behavior === 'ask' && reason.kind === 'default';
}

async function ask(
  site: Site,
  { descriptions, model }: NonNullable<Agent['described']>,
  command: string,
  cut: AbortSignal,
): Promise<{ finding: Finding | undefined; spent: Micros }> {
  const { hosts, files, agent, place, input, life } = site;
  const cwd = input.ctx.cwd ?? agent.dir;
  const outcome = await hosts.model.request(describedRequest({ model, descriptions, command, cwd }), {
    purse: input.purse ?? 0,
    signal: AbortSignal.any([life.cancelled, cut, AbortSignal.timeout(LIMIT_MS)]),
    spool: join(files.dir, spoolOf(place)),
    asking: askingOf(place),
    prices: agent.prices,
    onText: () => undefined,
    onActivity: () => undefined,
    onAttempt: () => undefined,
  });
  const { spent } = outcome;
  const finding = outcome.kind === 'reply' ? findingOf(outcome.reply, descriptions) : undefined;
  const text = finding?.does ?? ('text' in outcome ? outcome.text : outcome.kind);
  const { fits = null } = finding ?? {};
  files.events.write({ at: hosts.now(), kind: 'call.described', ...at(place), model, fits, text, spent });
  return { finding, spent };
}

const spoolOf = ({ turn, step, index }: Site['place']): string => describedSpool(turn, step, index);
const askingOf = ({ asking }: Site['place']): string => `${asking}/described`;
