import { homedir } from 'node:os';
import type { Registry } from '../core/tool.ts';
import { childEnv } from '../host/child-env.ts';
import { createFiles } from '../host/files.ts';
import { createHookRunner } from '../host/hook-runner.ts';
import type { CheckedCall, PermissionContext } from '../permissions/call.ts';
import { decide, reasonText } from '../permissions/chain.ts';
import { hookWord } from '../permissions/hook-word.ts';
import { modeInForce, modeNamed } from '../permissions/modes.ts';
import type { Decision } from '../shapes/permission.ts';
import { findTraits, type ToolMeta } from './call-traits.ts';
import { askHooks } from './check-hooks.ts';
import { CliError, Exit, usageError } from './cli-error.ts';
import type { Env } from './io.ts';
import { type JobSettings, jobSettings } from './job-settings.ts';
import { jobVariables } from './job-variables.ts';
import { readConfig } from './read-config.ts';
import { homePath } from './service/home.ts';

/** A call that somebody wants to know about, and where it would happen. */
export type CallQuestion = {
  cwd: string;
  /** Home of the user whose settings count; absent: that of the environment. */
  home?: string | undefined;
  tool: string;
  input: Record<string, unknown>;
  toolMeta?: ToolMeta | undefined;
};

export type CallVerdict = Decision & { text: string };

/**
 * Says what the rules of a folder decide about a call. Settings are read as for a job, with the folder's rules taken for
 * trusted; PreToolUse hooks run, those of the folder itself only when it really is trusted; the call does not. Of folders
 * that are asked about again settings are read once.
 */
export function createCallChecker(options: {
  env: Env;
  registry: Registry;
  settings?: string | undefined;
  mode?: string | undefined;
}): (question: CallQuestion) => Promise<CallVerdict> {
  const { env, registry, settings, mode } = options;
  const files = createFiles();
  const runner = createHookRunner();
  const known = new Map<string, Promise<JobSettings>>();

  function realOf(path: string): string {
    try {
      return files.real(path);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new CliError(Exit.failed, `nobody can tell where a path leads: ${why}`, 'Look at the path of the call.');
    }
  }

  function settingsOf({ cwd, home }: CallQuestion): Promise<JobSettings> {
    const key = JSON.stringify([cwd, home]);
    const found =
      known.get(key) ??
      readConfig({
        dir: cwd,
        cwd,
        env,
        ...(home === undefined ? {} : { home }),
        ...(settings === undefined ? {} : { settings }),
        // To look at a folder before it is trusted must not run what stands in it.
      }).then((read) => ({ ...jobSettings(read, { trusted: true }), hooks: jobSettings(read).hooks }));
    known.set(key, found);
    return found;
  }

  return async (question) => {
    const { cwd, tool, input, toolMeta: meta } = question;
    const home = question.home ?? (env['HOME'] || homedir());
    const found = await settingsOf(question);
    const wanted = mode === undefined ? found.rules.mode : modeNamed(mode);
    if (wanted === undefined) throw usageError(`--permission-mode ${mode}: there is no such mode`);
    const rules = { ...found.rules, mode: wanted };
    const context: PermissionContext = {
      cwd,
      root: cwd,
      home,
      nightshiftHome: homePath(env),
      resolve: (path) => ({ path, real: realOf(path) }),
      list: (folder) => files.names(folder),
    };
    const looked = (given: Record<string, unknown>): CheckedCall | string => {
      const traits = findTraits(registry, tool, given, { cwd, meta });
      if (traits.kind === 'refused') return traits.text;
      return { tool: registry.get(tool)?.name ?? tool, aliases: traits.aliases, input: given, traits: traits.traits };
    };
    const call = looked(input);
    if (typeof call === 'string') return refusal(call);
    const mark = `permissions-check/${process.pid}`;
    const said = await askHooks(call, {
      runner,
      hooks: found.hooks,
      context,
      mode: modeInForce(wanted, rules.disableBypass),
      env: childEnv({ ...env, HOME: home }, jobVariables(found.env, env), mark),
      mark,
    });
    const changed = said.input === undefined ? call : looked(said.input);
    if (typeof changed === 'string') return refusal(`A hook changed the input. ${changed}`);
    const hook = hookWord(said);
    const decision = decide({ ...changed, ...(hook ? { hook } : {}) }, rules, context);
    return { ...decision, text: reasonText(decision) };
  };
}

/** A call that its tool does not take never gets as far as the rules. */
function refusal(text: string): CallVerdict {
  return { behavior: 'deny', reason: { kind: 'tool', text }, text };
}
