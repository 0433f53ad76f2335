import type { Decision, Mode, Rules } from '../shapes/permission.ts';
import { analyse } from './bash.ts';
import type { BashAnalysis } from './bash-analysis.ts';
import { coverBash, type Coverage } from './bash-cover.ts';
import { bashDanger, writesFiles } from './bash-safety.ts';
import { forbids } from './bash-text.ts';
import type { CheckedCall, PermissionContext } from './call.ts';
import { compile, type CompiledRule, type CompiledRules } from './compile.ts';
import { isWithin, locate, withMemory } from './locate.ts';
import { modeInForce } from './modes.ts';
import { isOwnState, protectedPlace } from './protected.ts';
import { coversDomain, coversNamed, coversParameter, coversWholeTool, ruleNames } from './rule-match.ts';
import { sourceText } from './rules.ts';
import { changes, ruleForbidsUse, ruleForUse, usesOf, type Use } from './uses.ts';

/** A call with everything that the judges look at, worked out once. */
export type Case = {
  call: CheckedCall;
  rules: CompiledRules;
  mode: Mode;
  ctx: PermissionContext;
  directories: readonly string[];
  bash?: BashAnalysis;
  uses: readonly Use[];
  /** Names that rules may use for its tool. */
  names: readonly string[];
  /** What deny and ask rules were found to say. */
  answers: Map<CompiledRule, boolean | 'maybe'>;
};

type Judge = (facts: Case) => Decision | undefined;

/** Works out the facts of a call. */
export function caseOf(call: CheckedCall, rules: Rules, given: PermissionContext): Case {
  const { guarded = given.guarded } = rules;
  const ctx = withMemory({ ...given, ...(guarded ? { guarded } : {}), untrusted: !rules.trusted });
  const bash = call.traits.access === 'bash' ? analyse(call.traits.command ?? '') : undefined;
  return {
    call,
    rules: compile(rules),
    mode: modeInForce(ctx.mode ?? rules.mode, rules.disableBypass),
    ctx,
    directories: rules.directories,
    ...(bash ? { bash } : {}),
    uses: usesOf(call, bash, ctx),
    names: ruleNames(call),
    answers: new Map(),
  };
}

/** The judges in the order of their word. The first four are what a hook, a mode or an allow rule can't overrule. */
export const judges: readonly Judge[] = [
  hookDeny,
  denyRule,
  askRule,
  toolCheck,
  hookAsk,
  protectedJudge,
  modeJudge,
  allowRule,
  toolAllow,
  hookAllow,
];

function hookDeny({ call }: Case): Decision | undefined {
  return call.hook?.behavior === 'deny'
    ? { behavior: 'deny', reason: { kind: 'hook', text: call.hook.reason } }
    : undefined;
}

function denyRule(facts: Case): Decision | undefined {
  const rule = facts.rules.deny.find((one) => covered(one, facts) === true);
  return rule && byRule(rule);
}

function askRule(facts: Case): Decision | undefined {
  const rule = facts.rules.ask.find((one) => !isSandboxed(one, facts) && covered(one, facts) !== false);
  return rule && byRule(rule);
}

/** Asking about all of Bash is pointless where a sandbox makes its commands harmless. */
function isSandboxed(rule: CompiledRule, facts: Case): boolean {
  return rule.bare && rule.rule.tool === 'Bash' && runsInSandbox(facts);
}

function runsInSandbox({ call, ctx, mode }: Case): boolean {
  const { input } = call;
  const leaves =
    typeof input === 'object' &&
    input !== null &&
    'dangerouslyDisableSandbox' in input &&
    input.dangerouslyDisableSandbox === true;
  return ctx.sandboxed === true && mode !== 'plan' && !leaves && call.traits.access === 'bash';
}

/** Whether a deny or ask rule covers a call; `maybe` when that depends on what is only known when the call runs. Worked out once. */
function covered(rule: CompiledRule, facts: Case): boolean | 'maybe' {
  const before = facts.answers.get(rule);
  if (before !== undefined) return before;
  const found = coversWhole(rule, facts.call) || coversParts(rule, facts);
  facts.answers.set(rule, found);
  return found;
}

function coversWhole(rule: CompiledRule, call: CheckedCall): boolean {
  return (
    coversWholeTool(rule, call) || coversParameter(rule, call) || coversDomain(rule, call) || coversNamed(rule, call)
  );
}

function coversParts(rule: CompiledRule, { call, bash, uses, ctx, names }: Case): boolean | 'maybe' {
  let maybe = false;
  if (bash && rule.command && names.includes(rule.rule.tool)) {
    for (const command of bash.commands) {
      const answer = forbids(rule.command, command, ctx.home);
      if (answer === true) return true;
      maybe ||= answer === 'maybe';
    }
  }
  for (const use of uses) {
    const answer = ruleForbidsUse(rule, use, call, ctx);
    if (answer === true) return true;
    maybe ||= answer === 'maybe';
  }
  return maybe ? 'maybe' : false;
}

function toolCheck(facts: Case): Decision | undefined {
  const { call, bash, ctx, directories } = facts;
  const { check, requiresInteraction, mcp } = call.traits;
  if (check && check.behavior !== 'allow')
    return { behavior: check.behavior, reason: { kind: 'tool', text: check.text } };
  const answered = call.hook?.behavior === 'allow' && call.hook.answered === true && !mcp;
  if (requiresInteraction && !answered)
    return { behavior: 'ask', reason: { kind: 'tool', text: `${call.tool} always asks a person.` } };
  const danger = bash && bashDanger(bash, ctx, directories);
  if (danger !== undefined) return safety(danger);
  const own = facts.uses.find(
    (use) =>
      use.place.kind !== 'unknown' && pathsOf(use).some((path) => isOwnState(locate(path, ctx), ctx, !changes(use))),
  );
  if (own) return safety(`${own.text} belongs to nightshift's own state.`);
  const doubt = doubtfulRule(facts);
  return doubt === undefined ? undefined : safety(doubt);
}

/** Why a deny rule may be meant although that can't be told from the command's text. */
function doubtfulRule(facts: Case): string | undefined {
  const maybe = facts.rules.deny.find((rule) => covered(rule, facts) === 'maybe');
  if (maybe) return `Whether the deny rule ${maybe.rule.text} covers it is only known when it runs.`;
  const [doubt] = facts.bash?.unclear ?? [];
  const content = [...facts.rules.deny, ...facts.rules.ask].find((rule) => rule.command !== undefined);
  if (doubt === undefined || !content) return undefined;
  return `Whether the ${content.list} rule ${content.rule.text} covers it can't be told: ${doubt}.`;
}

function pathsOf(use: Use): readonly string[] {
  if (use.place.kind === 'paths') return use.place.paths;
  return use.place.kind === 'below' ? [...use.place.folders, ...use.place.found] : [];
}

function hookAsk({ call }: Case): Decision | undefined {
  return call.hook?.behavior === 'ask'
    ? { behavior: 'ask', reason: { kind: 'hook', text: call.hook.reason } }
    : undefined;
}

/** Asks about changes in places whose content other programs obey, in every mode that asks at all. */
export function protectedJudge({ mode, uses, ctx }: Case): Decision | undefined {
  if (mode === 'bypassPermissions') return undefined;
  for (const use of uses) {
    const why = changes(use) ? protectedPlace(use.place, ctx) : undefined;
    if (why !== undefined) return safety(`It changes ${use.text}: ${why}.`);
  }
  return undefined;
}

function modeJudge(facts: Case): Decision | undefined {
  const { call, mode, bash, uses, ctx, directories } = facts;
  if (mode === 'bypassPermissions') return { behavior: 'allow', reason: { kind: 'mode', mode } };
  if (mode === 'plan' && (call.traits.access === 'edit' || (bash && writesFiles(bash))))
    return {
      behavior: 'ask',
      reason: { kind: 'mode', mode, text: 'files may not be changed before the plan is approved' },
    };
  if (mode !== 'acceptEdits') return undefined;
  const within =
    call.traits.access === 'edit' &&
    uses.length > 0 &&
    uses.every(
      (use) =>
        pathsOf(use).length > 0 &&
        pathsOf(use).every((path) => isWithin(locate(path, ctx), [ctx.root, ...directories], ctx)),
    );
  const edits =
    bash && coverBash(bash, { ctx, rules: [], edits: true, directories }).kind === 'covered' && !isReading(facts);
  return within || edits ? { behavior: 'allow', reason: { kind: 'mode', mode } } : undefined;
}

function isReading(facts: Case): boolean {
  return coverOf(facts, [], false).kind === 'covered';
}

function coverOf({ bash, ctx, directories }: Case, rules: readonly CompiledRule[], edits: boolean): Coverage {
  if (!bash) return { kind: 'open', text: 'no command' };
  return coverBash(bash, { ctx, rules, edits, directories });
}

function allowRule(facts: Case): Decision | undefined {
  const { call, rules, uses, ctx, mode } = facts;
  const whole = rules.allow.find(
    (rule) => coversWholeTool(rule, call) || coversDomain(rule, call) || coversNamed(rule, call),
  );
  if (whole) return byRule(whole);
  const { access } = call.traits;
  if (access === 'bash') {
    const coverage = coverOf(facts, rules.allow, mode === 'acceptEdits');
    if (coverage.kind === 'open') return undefined;
    if (coverage.rules.length > 0) return byRules(coverage.rules);
    return isReading(facts) ? undefined : toolSays('It only reads where the rules let it.');
  }
  if ((access !== 'read' && access !== 'edit') || uses.length === 0) return undefined;
  const needed = uses.filter((use) => changes(use) || !isReadable(use, facts));
  const found = needed.map((use) => ruleForUse(rules.allow, use, ctx));
  const rulesFound = found.filter((rule) => rule !== undefined);
  return needed.length > 0 && rulesFound.length === needed.length ? byRules(rulesFound) : undefined;
}

function isReadable(use: Use, { ctx, directories }: Case): boolean {
  const folders = [ctx.root, ...directories, ...(ctx.readable ?? [])];
  return use.place.kind === 'paths' && use.place.paths.every((path) => isWithin(locate(path, ctx), folders, ctx));
}

function toolAllow(facts: Case): Decision | undefined {
  const { call, uses } = facts;
  const { access, check } = call.traits;
  if (check?.behavior === 'allow') return toolSays(check.text);
  if (access === 'none') return toolSays(`${call.tool} needs no permission.`);
  if (access === 'read' && uses.every((use) => isReadable(use, facts)))
    return toolSays('It only reads inside the working folders.');
  if (access !== 'bash') return undefined;
  if (isReading(facts)) return toolSays('It only reads inside the working folders.');
  return runsInSandbox(facts) ? toolSays('It runs inside the sandbox.') : undefined;
}

function toolSays(text: string): Decision {
  return { behavior: 'allow', reason: { kind: 'tool', text } };
}

function hookAllow({ call }: Case): Decision | undefined {
  return call.hook?.behavior === 'allow'
    ? { behavior: 'allow', reason: { kind: 'hook', text: call.hook.reason } }
    : undefined;
}

/** Why a call that no judge decided has to be asked about. */
export function whyOpen(facts: Case): string {
  const { access } = facts.call.traits;
  if (access === 'read') return 'It reads outside the working folders, and no rule allows that.';
  if (access !== 'bash') return 'No rule allows it.';
  const coverage = coverOf(facts, facts.rules.allow, facts.mode === 'acceptEdits');
  return coverage.kind === 'open' ? `It is not allowed as a whole: ${coverage.text}.` : 'No rule allows it.';
}

function safety(text: string): Decision {
  return { behavior: 'ask', reason: { kind: 'safety', text } };
}

function byRule({ rule, list }: CompiledRule): Decision {
  return { behavior: list, reason: { kind: 'rule', rule: rule.text, source: sourceText(rule.source), behavior: list } };
}

function byRules(rules: readonly CompiledRule[]): Decision {
  const [first] = rules;
  const texts = [...new Set(rules.map((one) => one.rule.text))].join(', ');
  const sources = [...new Set(rules.map((one) => sourceText(one.rule.source)))].join(', ');
  return {
    behavior: 'allow',
    reason: { kind: 'rule', rule: texts, source: sources, behavior: first?.list ?? 'allow' },
  };
}
