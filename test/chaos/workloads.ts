import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from '../../src/app/model-server/script.ts';
import type { Limits } from '../../src/shapes/limits.ts';
import { countLines, textOf } from './files.ts';

export type Step = NonNullable<NonNullable<Script['jobs']>[number]['steps']>[number];
type Call = NonNullable<Step['calls']>[number];

/** Something that a call does to the world, and how often it is seen to have been done. */
export type Effect = { call: string; what: string; times: (dir: string) => number };

/** A job for the scripted model, known by the word with which its prompt begins, and what it does to its folder. */
export type Workload = {
  word: string;
  steps: Step[];
  effects: Effect[];
  /** Background commands, each of whose end the model must be told once. */
  tasks?: string[];
  /** Calls without an effect, which must always succeed. */
  reads?: string[];
  /** Whether a person is asked before each command. */
  asks?: true;
  limits?: Partial<Limits>;
  prepare?: (dir: string) => void;
};

/** Where the job works, for inputs that need an absolute path. */
const DIR = '{{prompt | match / in (\\S+)/}}';
const JOURNAL = 'journal.txt';
/** A command waits here until the test makes the file `gate`. */
const WAIT = 'until [ -e gate ]; do sleep 0.05; done';

const bash = (id: string, command: string, more: Record<string, unknown> = {}): Call => ({
  id,
  name: 'Bash',
  input: { command, ...more },
});
const note = (line: string): string => `echo ${line} >> ${JOURNAL}`;
/** A call that writes one line into the journal. */
const journal = (line: string): Call => bash(line, note(line));
const written = (call: string, line = call): Effect => ({
  call,
  what: `the line "${line}"`,
  times: (dir) => countLines(join(dir, JOURNAL), line),
});
const holds = (call: string, file: string, text: string): Effect => ({
  call,
  what: `the text of ${file}`,
  times: (dir) => (textOf(join(dir, file)) === text ? 1 : 0),
});
const read = (id: string, file: string): Call => ({ id, name: 'Read', input: { file_path: `${DIR}/${file}` } });
const MARCH = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'];
const END: Step = { text: 'All is done.' };
const slow = (word: string, stall: NonNullable<Step['stall']>): Workload => ({
  word,
  steps: [
    { calls: [journal('first')] },
    {
      text: 'I think about it for quite some time before I go on.',
      calls: [journal('second'), journal('third')],
      stall,
    },
    END,
  ],
  effects: [written('first'), written('second'), written('third')],
});

function gitRepository(dir: string): void {
  const git = (...args: string[]): void => {
    execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args]);
  };
  git('init', '-q');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@example.org');
  git('commit', '-q', '--allow-empty', '-m', 'start');
}

/** The commits of a repository with this subject. */
function commits(dir: string, subject: string): number {
  const log = execFileSync('git', ['-C', dir, 'log', '--format=%s'], { encoding: 'utf8' });
  return log.split('\n').filter((line) => line === subject).length;
}

/** One commit and nothing else, which stops in this hook until the gate opens. */
const recording = (word: string, hook: 'pre-commit' | 'post-commit'): Workload => ({
  word,
  steps: [{ calls: [bash('c', 'git commit -q -m made')] }, END],
  effects: [{ call: 'c', what: 'the commit', times: (dir) => commits(dir, 'made') }],
  prepare(dir) {
    gitRepository(dir);
    writeFileSync(join(dir, 'file'), 'x\n');
    execFileSync('git', ['-C', dir, 'add', 'file']);
    hookThatWaits(dir, hook);
  },
});

function hookThatWaits(dir: string, hook: string): void {
  const path = join(dir, '.git/hooks', hook);
  writeFileSync(path, `#!/bin/sh\n${note('begun')}\n${WAIT}\n`);
  chmodSync(path, 0o755);
}

/** What jobs do while they are killed. */
export const WORKLOADS = {
  /** The stalls come once: the reply to the next attempt comes in one piece. */
  silent: slow('silent', [{ after: 'start', for: '3s' }]),
  // Long enough for a cancel to arrive on a busy machine.
  talking: slow('talking', [{ after: '4 events', for: '8s' }]),
  /** The first of two calls is complete when the reply stops. */
  calling: slow('calling', [{ after: 'block 1', for: '3s' }]),
  spoken: slow('spoken', [{ after: 'end', for: '3s' }]),

  reading: {
    word: 'reading',
    steps: [
      { calls: [read('a', 'a.txt'), read('b', 'b.txt'), { id: 'c', name: 'Grep', input: { pattern: 'text' } }] },
      { calls: [read('d', 'a.txt')] },
      END,
    ],
    effects: [],
    reads: ['a', 'b', 'c', 'd'],
    prepare(dir) {
      writeFileSync(join(dir, 'a.txt'), 'the text of a\n');
      writeFileSync(join(dir, 'b.txt'), 'the text of b\n');
    },
  },

  shell: {
    word: 'shell',
    steps: [{ calls: [bash('run', `${note('begun')}; ${WAIT}; ${note('ended')}`)] }, { calls: [journal('next')] }, END],
    effects: [written('run', 'begun'), written('run', 'ended'), written('next')],
  },
  /** The command leaves children in sessions of their own, which outlive it until they are killed. */
  family: {
    word: 'family',
    steps: [
      {
        calls: [
          bash(
            'run',
            `setsid sh -c '${note('child')}; sleep 600' & setsid setsid sleep 601 & until grep -qx child ${JOURNAL}; do sleep 0.05; done; ${note('begun')}; ${WAIT}; ${note('ended')}`,
          ),
        ],
      },
      END,
    ],
    effects: [written('run', 'child'), written('run', 'begun'), written('run', 'ended')],
  },

  writing: {
    word: 'writing',
    steps: [
      { calls: [{ id: 'w', name: 'Write', input: { file_path: `${DIR}/new.txt`, content: 'all new\n' } }] },
      { calls: [journal('next')] },
      END,
    ],
    effects: [holds('w', 'new.txt', 'all new\n'), written('next')],
  },
  editing: {
    word: 'editing',
    steps: [
      { calls: [read('r', 'old.txt')] },
      {
        calls: [
          {
            id: 'e',
            name: 'Edit',
            input: { file_path: `${DIR}/old.txt`, old_string: 'one', new_string: 'one and one' },
          },
        ],
      },
      { calls: [journal('next')] },
      END,
    ],
    effects: [holds('e', 'old.txt', 'one and one\n'), written('next')],
    reads: ['r'],
    prepare: (dir) => writeFileSync(join(dir, 'old.txt'), 'one\n'),
  },

  /** Files only, no command. */
  paging: {
    word: 'paging',
    steps: [
      { calls: [{ id: 'w1', name: 'Write', input: { file_path: `${DIR}/one.txt`, content: 'one\n' } }] },
      { calls: [{ id: 'w2', name: 'Write', input: { file_path: `${DIR}/two.txt`, content: 'two\n' } }] },
      END,
    ],
    effects: [holds('w1', 'one.txt', 'one\n'), holds('w2', 'two.txt', 'two\n')],
  },

  /** The commit stops in its hook, until the gate opens. */
  committing: {
    word: 'committing',
    steps: [{ calls: [bash('c', 'echo x > file && git add file && git commit -q -m made')] }, END],
    effects: [{ call: 'c', what: 'the commit', times: (dir) => commits(dir, 'made') }],
    prepare(dir) {
      gitRepository(dir);
      hookThatWaits(dir, 'pre-commit');
    },
  },
  beforeCommit: recording('before-commit', 'pre-commit'),
  afterCommit: recording('after-commit', 'post-commit'),

  asking: {
    word: 'asking',
    steps: [{ calls: [journal('asked')] }, END],
    effects: [written('asked')],
    asks: true,
  },

  stepping: {
    word: 'stepping',
    steps: [
      { calls: [journal('1'), journal('2')] },
      { calls: [journal('3')] },
      { text: 'Go on.', calls: [journal('4')] },
      END,
    ],
    effects: ['1', '2', '3', '4'].map((line) => written(line)),
  },
  /** Each run of the turn, and of the job, lasts for about one step. */
  rolling: {
    word: 'rolling',
    steps: [...['1', '2', '3', '4', '5', '6'].map((line): Step => ({ calls: [journal(line)] })), END],
    effects: ['1', '2', '3', '4', '5', '6'].map((line) => written(line)),
    limits: { events: 20 },
  },
  /** Long enough to die in it many times. */
  marching: {
    word: 'marching',
    steps: [...MARCH.map((line): Step => ({ calls: [journal(line)] })), END],
    effects: MARCH.map((line) => written(line)),
    limits: { events: 40 },
  },

  /** A command in the background, and one in the foreground that waits for its end. */
  background: {
    word: 'background',
    steps: [
      { calls: [bash('b', `${note('begun')}; ${WAIT}; ${note('ended')}`, { run_in_background: true })] },
      { calls: [bash('f', `until grep -qx ended ${JOURNAL}; do sleep 0.05; done; ${note('seen')}`)] },
      // The news of its end comes into this turn, or makes another one.
      ...Array.from({ length: 4 }, () => END),
    ],
    effects: [written('b', 'begun'), written('b', 'ended'), written('f', 'seen')],
    tasks: ['shell-1-1-0'],
  },

  /** Never ends by itself. */
  endless: {
    word: 'endless',
    steps: [
      {
        calls: [bash('run', `setsid sleep 602 & ${note('begun')}; sleep 603`)],
      },
      END,
    ],
    effects: [written('run', 'begun')],
  },

  /** A bit of everything, for kills at any time. */
  mixed: {
    word: 'mixed',
    steps: [
      {
        text: 'I look around.',
        calls: [read('r1', 'old.txt'), { id: 'r2', name: 'Glob', input: { pattern: '*.txt' } }],
        duration: '200ms',
      },
      { calls: [journal('1'), bash('2', `${note('2a')}; sleep 0.3; ${note('2b')}`)] },
      { calls: [{ id: 'w', name: 'Write', input: { file_path: `${DIR}/new.txt`, content: 'all new\n' } }] },
      {
        text: 'Now the change, of which there is a lot to say.',
        calls: [
          {
            id: 'e',
            name: 'Edit',
            input: { file_path: `${DIR}/old.txt`, old_string: 'one', new_string: 'one and one' },
          },
        ],
        duration: '300ms',
      },
      { calls: [bash('c', 'git add -A && git commit -q -m made')] },
      { calls: [bash('k', `setsid sleep 604 & ${note('k')}; sleep 0.2`), read('r3', 'new.txt')] },
      { calls: [journal('last')] },
      { ...END, duration: '200ms' },
    ],
    effects: [
      written('1'),
      written('2', '2a'),
      written('2', '2b'),
      holds('w', 'new.txt', 'all new\n'),
      holds('e', 'old.txt', 'one and one\n'),
      { call: 'c', what: 'the commit', times: (dir) => commits(dir, 'made') },
      written('k'),
      written('last'),
    ],
    reads: ['r1', 'r2', 'r3'],
    limits: { events: 60 },
    prepare(dir) {
      gitRepository(dir);
      writeFileSync(join(dir, 'old.txt'), 'one\n');
    },
  },
} satisfies Record<string, Workload>;
export type WorkloadName = keyof typeof WORKLOADS;

/** The script that plays all of them. */
export const SCRIPT: Script = {
  jobs: (Object.values(WORKLOADS) as Workload[]).map(({ word, steps }) => ({
    name: word,
    match: `${word} in /`,
    steps,
  })),
};
