import { outcomeOf } from '../core/hook-output.ts';
import { distinct, matching, merge, timeoutMs } from '../core/hooks.ts';
import type { HookRunner } from '../core/ports.ts';
import type { CheckedCall, PermissionContext } from '../permissions/call.ts';
import { hookConcerns } from '../permissions/hook-if.ts';
import type { Hook, HookVerdict } from '../shapes/hook.ts';

/** What running hooks needs beside the call. */
export type HookSurroundings = {
  runner: HookRunner;
  hooks: readonly Hook[];
  context: PermissionContext;
  mode: string;
  env: Record<string, string>;
  mark: string;
};

/** What the PreToolUse hooks say of a call that is only looked at. They do run. */
export async function askHooks(call: CheckedCall, around: HookSurroundings): Promise<HookVerdict> {
  const { runner, hooks, context, mode, env, mark } = around;
  const names = [call.tool, ...(call.aliases ?? [])];
  const concerned = distinct(
    matching(hooks, 'PreToolUse', names).filter(
      (hook) => hook.if === undefined || hookConcerns(hook.if, call, context),
    ),
  );
  const input = JSON.stringify({
    session_id: 'permissions-check',
    transcript_path: '',
    cwd: context.cwd,
    permission_mode: mode,
    hook_event_name: 'PreToolUse',
    tool_name: call.tool,
    tool_input: call.input,
    tool_use_id: 'permissions-check',
  });
  const { signal } = new AbortController();
  const run = async (hook: Hook) => {
    const job = {
      input,
      cwd: context.cwd,
      projectDir: context.root,
      env,
      mark,
      signal,
      timeoutMs: timeoutMs(hook, hooks),
    };
    return outcomeOf('PreToolUse', await runner.run(hook, job), hook.onFailure);
  };
  // Who runs beside the call decides nothing, and there is nobody to hear what it says later.
  const decisive = concerned.filter((hook) => !(hook.type === 'command' && hook.async === true));
  return merge(await Promise.all(decisive.map(run)));
}
