import type { Hosts } from '../src/core/hosts.ts';
import type { ToolInput, ToolResult } from '../src/shapes/call.ts';
import type { OpenResult } from '../src/shapes/job.ts';
import type { ModelInput, ModelResult } from '../src/shapes/model.ts';
import type { TaskEnd, TaskInput } from '../src/shapes/task.ts';
import { addRules, type AddRulesInput } from './add-rules.ts';
import { callModel } from './call-model.ts';
import { closeJob, type CloseInput } from './close-job.ts';
import { countLost, type LostInput } from './count-lost.ts';
import { notify, type NotifyInput } from './notify.ts';
import { openJob, type OpenInput } from './open-job.ts';
import { runTool } from './run-tool.ts';
import { saveRule, type SaveRuleInput } from './save-rule.ts';
import { tellHooks, type TellHooksInput } from './tell-hooks.ts';
import { tellPeople, type TellPeopleInput } from './tell-people.ts';
import { updatePermissions, type UpdatePermissionsInput, type UpdatedPermissions } from './update-permissions.ts';
import { endTask, watchTask } from './watch-task.ts';

/** Every step that may be retried; the hosts are all they know of the outside. */
export type Activities = {
  openJob(input: OpenInput): Promise<OpenResult>;
  callModel(input: ModelInput): Promise<ModelResult>;
  countLost(input: LostInput): Promise<{ spent: number }>;
  runTool(input: ToolInput): Promise<ToolResult>;
  watchTask(input: TaskInput): Promise<TaskEnd>;
  endTask(input: TaskInput): Promise<TaskEnd>;
  addRules(input: AddRulesInput): Promise<{ sha: string }>;
  notify(input: NotifyInput): Promise<void>;
  tellHooks(input: TellHooksInput): Promise<void>;
  tellPeople(input: TellPeopleInput): Promise<void>;
  saveRule(input: SaveRuleInput): Promise<void>;
  updatePermissions(input: UpdatePermissionsInput): Promise<UpdatedPermissions>;
  closeJob(input: CloseInput): Promise<void>;
};

export function createActivities(hosts: Hosts): Activities {
  return {
    openJob: (input) => openJob(hosts, input),
    callModel: (input) => callModel(hosts, input),
    countLost: (input) => countLost(hosts, input),
    runTool: (input) => runTool(hosts, input),
    watchTask: (input) => watchTask(hosts, input),
    endTask: (input) => endTask(hosts, input),
    addRules: (input) => addRules(hosts, input),
    notify: (input) => notify(hosts, input),
    tellHooks: (input) => tellHooks(hosts, input),
    tellPeople: (input) => tellPeople(hosts, input),
    saveRule: (input) => saveRule(hosts, input),
    updatePermissions: (input) => updatePermissions(hosts, input),
    closeJob: (input) => closeJob(hosts, input),
  };
}
