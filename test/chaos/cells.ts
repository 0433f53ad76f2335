import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashWindow } from '../../src/host/crash-windows.ts';
import type { JobStatus } from '../../src/shapes/job.ts';
import { countLines, textOf, untilSeen } from './files.ts';
import type { Stage, Victim } from './stage.ts';
import { type WorkloadName, WORKLOADS } from './workloads.ts';

/** A job that is about to be killed. */
export type Scene = { stage: Stage; id: string; dir: string };

/** A moment at which somebody dies, and what has to happen afterwards so that the job can end. */
export type Cell = {
  name: string;
  workload: WorkloadName;
  /** A window at which the worker is held; `skip`: it passes so many times before. */
  window?: CrashWindow;
  skip?: number;
  /** Resolves at the moment, or shortly before the window. */
  moment?(scene: Scene): Promise<void>;
  /** While what was killed is dead. The server lives again when `server` is among those that were killed and `needsServer`. */
  dead?(scene: Scene): Promise<void>;
  needsServer?: true;
  /** When everything lives again. */
  alive?(scene: Scene): Promise<void>;
  victims?: readonly Victim[];
  status?: JobStatus;
};

const journalOf = ({ dir }: Scene): string => join(dir, 'journal.txt');
const hasLine =
  (line: string) =>
  (scene: Scene): Promise<void> =>
    untilSeen(journalOf(scene), () => countLines(journalOf(scene), line) > 0, `the line "${line}"`);
const openGate = async ({ dir }: Scene): Promise<void> => writeFileSync(join(dir, 'gate'), '');
/** The model server holds its reply to the second step. */
const stalled = async ({ stage, dir }: Scene): Promise<void> => {
  const { model } = stage.rig;
  const before = model.requests().length;
  await hasLine('first')({ stage, dir, id: '' });
  await model.waitFor(({ n, stalled }) => n > before && stalled === true);
};
/** The command of the first call has ended while nobody looked. */
const ended = async (scene: Scene): Promise<void> => {
  await openGate(scene);
  const exit = join(scene.stage.rig.home.jobs, scene.id, 'turns/1/1.0/exit');
  await untilSeen(exit, () => textOf(exit) !== '', 'the end of the command');
};
const asked = async ({ stage, id }: Scene): Promise<void> => void (await stage.rig.event(id, 'prompt.opened'));
const allow = async ({ stage, id }: Scene): Promise<void> => {
  const { rig } = stage;
  const { id: prompt } = await rig.event(id, 'prompt.opened');
  await rig.client.signal(id, 'answerPermission', { id: prompt, behavior: 'allow', by: 'the test' });
};
const cancel = async ({ stage, id }: Scene): Promise<void> => void (await stage.rig.client.cancel(id));
const cancelWhenBegun = async (scene: Scene): Promise<void> => {
  await hasLine('begun')(scene);
  await cancel(scene);
};

const windows = (
  what: string,
  workload: WorkloadName,
  names: readonly CrashWindow[],
  more: Partial<Cell> = {},
): Cell[] => names.map((window) => ({ name: `${what}: ${window}`, workload, window, ...more }));

/** Every named moment of the matrix. */
export const CELLS: readonly Cell[] = [
  { name: 'model call: before the first byte', workload: 'silent', moment: stalled },
  { name: 'model call: in its first words', workload: 'talking', moment: stalled },
  { name: 'model call: one of two calls complete', workload: 'calling', moment: stalled },
  { name: 'model call: after the last byte', workload: 'spoken', moment: stalled },
  ...windows('model call', 'stepping', [
    'model.before-request',
    'model.after-reply',
    'reply.before-append',
    'reply.after-append',
  ]),
  ...windows('Read', 'reading', ['tool.owned', 'tool.before-result', 'tool.result-written']),
  ...windows('Bash', 'shell', ['tool.owned', 'tool.claimed', 'shell.started'], { alive: openGate }),
  { name: 'Bash: running', workload: 'shell', moment: hasLine('begun'), alive: openGate },
  { name: 'Bash: ended while dead', workload: 'shell', moment: hasLine('begun'), dead: ended },
  { name: 'Bash: with children that left the group', workload: 'family', moment: hasLine('begun'), alive: openGate },
  { name: 'Bash: such children, ended while dead', workload: 'family', moment: hasLine('begun'), dead: ended },
  ...windows('Bash', 'stepping', ['tool.before-result', 'tool.result-written']),
  ...windows('Write', 'writing', [
    'tool.claimed',
    'file.before-write',
    'file.before-rename',
    'file.after-write',
    'tool.before-result',
    'tool.result-written',
  ]),
  ...windows('Edit', 'editing', ['tool.claimed', 'file.before-write', 'file.before-rename', 'file.after-write']),
  ...windows('Edit', 'editing', ['tool.before-result', 'tool.result-written'], { skip: 1 }),
  { name: 'git commit: in its hook', workload: 'committing', moment: hasLine('begun'), alive: openGate },
  { name: 'git commit: made while dead', workload: 'committing', moment: hasLine('begun'), dead: ended },
  ...windows('git commit', 'committing', ['tool.before-result'], { moment: openGate }),
  ...windows('background', 'background', ['shell.started', 'task.published', 'tool.given-back', 'tool.before-result'], {
    alive: openGate,
  }),
  { name: 'background: running', workload: 'background', moment: hasLine('begun'), alive: openGate },
  { name: 'background: ended while dead', workload: 'background', moment: hasLine('begun'), dead: ended },
  { name: 'question: open', workload: 'asking', moment: asked, alive: allow },
  { name: 'question: answered while dead', workload: 'asking', moment: asked, dead: allow, needsServer: true },
  ...windows('question', 'asking', ['tool.given-back'], { alive: allow }),
  ...windows('between steps', 'stepping', ['seal.before-append', 'seal.after-append'], { skip: 1 }),
  ...windows('roll-over', 'rolling', ['seal.before-append', 'reply.after-append', 'tool.result-written'], { skip: 2 }),
  { name: 'roll-over: after a step', workload: 'rolling', moment: hasLine('3') },
  ...windows(
    'cancel',
    'endless',
    ['shell.before-kill', 'shell.after-kill', 'close.before-record', 'close.after-record'],
    {
      moment: cancelWhenBegun,
      status: 'cancelled',
    },
  ),
  {
    name: 'cancel: asked while dead',
    workload: 'endless',
    moment: hasLine('begun'),
    dead: cancel,
    needsServer: true,
    status: 'cancelled',
  },
  ...windows('cancel', 'talking', ['model.after-cancel'], {
    moment: async (scene) => {
      await stalled(scene);
      await cancel(scene);
    },
    status: 'cancelled',
  }),
  {
    name: 'cancel: of a model call, asked while dead',
    workload: 'talking',
    moment: stalled,
    dead: cancel,
    needsServer: true,
    status: 'cancelled',
  },
  ...windows('end', 'stepping', ['close.before-record', 'close.after-record']),
];

/** What a workload needs so that it ends by itself, whenever it is killed. */
export const UNATTENDED: Readonly<
  Record<WorkloadName, { status?: JobStatus; help?: (scene: Scene) => Promise<void> }>
> = {
  ...(Object.fromEntries(Object.keys(WORKLOADS).map((name) => [name, {}])) as Record<WorkloadName, object>),
  shell: { help: openGate },
  family: { help: openGate },
  committing: { help: openGate },
  beforeCommit: { help: openGate },
  afterCommit: { help: openGate },
  background: { help: openGate },
  asking: { help: allow },
  endless: { status: 'cancelled', help: cancelWhenBegun },
};
