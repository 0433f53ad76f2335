import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldEvents } from '../../src/core/timeline.ts';
import { allow, hookBench, print, resultsOf, say, textsOf } from '../support/hook-bench.ts';
import { type Rig, rig, RULES } from '../support/rig.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command } });
let r: Rig;

beforeAll(async () => {
  r = await rig({
    bodies: true,
    jobs: [
      {
        match: 'two looks',
        steps: [
          { calls: [bash('echo "$FLAVOUR $TASTE $(greet)"; export FLAVOUR=salt')] },
          { calls: [bash('echo "$FLAVOUR"; exit 3')] },
          { text: 'seen' },
        ],
      },
      { match: 'say more', steps: [{ text: 'first' }, { calls: [bash('echo "$RUN"')] }, { text: 'second' }] },
      {
        match: 'find its file',
        steps: [
          { calls: [bash('env | sort')] },
          { calls: [bash("cd '{{prompt | match /at (\\S+)/}}' && echo 'export FLAVOUR=bitter' >> hook-env/0.sh")] },
          {
            calls: [
              { name: 'Write', input: { file_path: '{{prompt | match /at (\\S+)/}}/hook-env/0.sh', content: 'exit' } },
            ],
          },
          { calls: [bash('echo "$FLAVOUR"')] },
          { text: 'not found' },
        ],
      },
    ],
  });
});
afterAll(() => r.close());

const contents = async (id: string) => (await resultsOf(r, id)).map((result) => result.content);

describe('what SessionStart hooks write to CLAUDE_ENV_FILE', () => {
  it('is run ahead of every command, the hooks in their order', async () => {
    const bench = hookBench(r);
    const id = await bench.run('two looks', [
      bench.hook(
        'SessionStart',
        `echo 'export FLAVOUR=sweet TASTE=mild; greet() { echo hello; }' > "$CLAUDE_ENV_FILE"`,
      ),
      bench.hook('SessionStart', `echo 'export TASTE="very $TASTE"; echo noise' >> "$CLAUDE_ENV_FILE"`),
      bench.hook('PreToolUse', 'echo "[$CLAUDE_ENV_FILE]" >> others.txt'),
    ]);
    expect(await contents(id)).toEqual(['sweet very mild hello', 'Exit code 3\nsweet']);
    expect(bench.lines('others.txt')).toEqual(['[]', '[]']);
  });

  it.each<[what: string, text: string, complaint: string, flavour: string]>([
    ['is no bash', 'export FLAVOUR=sweet\nif then (', 'syntax error', 'sweet'],
    ['holds a command that is not there', 'export FLAVOUR=sweet; nonesuch-xyz', 'nonesuch-xyz', 'sweet'],
    ['ends the shell', 'export FLAVOUR=sweet; exit 7', 'ended the shell with exit code 7', 'sweet'],
    ['fails under set -e', 'export FLAVOUR=sweet; set -e; false', 'ended the shell with exit code 1', 'sweet'],
  ])(
    'and %s keeps no command from running, and both model and watchers hear of it',
    async (_what, text, why, flavour) => {
      const bench = hookBench(r);
      const id = await bench.run('two looks', [
        bench.hook('SessionStart', `cat > "$CLAUDE_ENV_FILE" <<'EOF'\n${text}\nEOF`),
      ]);
      const [first, second] = await contents(id);
      for (const said of [first, second]) {
        expect(said).toContain(why);
        expect(said).toContain('CLAUDE_ENV_FILE');
      }
      expect(first).toContain(`\n${flavour}`);
      expect(second).toMatch(/^Exit code 3\n/);
      const { turns } = foldEvents(r.events(id));
      expect(turns[0]!.steps[0]!.calls[0]!.end!.preview).toContain('CLAUDE_ENV_FILE');
    },
  );

  it('is written anew when the job goes on, and not added up', async () => {
    const bench = hookBench(r);
    const hook = bench.hook(
      'SessionStart',
      `printf x >> n.txt; echo "export RUN=\\"\\\${RUN}$(cat n.txt)\\"" >> "$CLAUDE_ENV_FILE"`,
    );
    const id = await bench.run('say more', [hook]);
    await r.client.send(id, 'go on');
    await r.settled(id);
    expect(await contents(id)).toEqual(['xx']);
  });

  it('can not be found or changed by the model', async () => {
    const bench = hookBench(r);
    const id = 'env-file';
    const over = { id, rules: { ...allow('Bash', 'Edit'), mode: 'bypassPermissions' as const } };
    const hooks = [
      bench.hook('SessionStart', `echo 'export FLAVOUR=sweet' > "$CLAUDE_ENV_FILE"`),
      bench.hook('PermissionRequest', print({})),
    ];
    await bench.start(`find its file at ${join(r.home.jobs, id)}`, hooks, over);
    for (const n of [1, 2]) {
      const asked = await r.event(id, 'prompt.opened', (event) => event.id === `${id}:${n}`);
      await r.client.signal(id, 'answerPermission', { id: asked.id, behavior: 'deny' });
    }
    await r.settled(id);
    const [env, ...rest] = await contents(id);
    expect(env).not.toContain('CLAUDE_ENV_FILE');
    expect(rest.at(-1)).toBe('sweet');
    expect(readFileSync(join(r.home.jobs, id, 'hook-env/0.sh'), 'utf8')).toBe('export FLAVOUR=sweet\n');
  });
});

describe('the initialUserMessage of a SessionStart hook', () => {
  it('is the first input, ahead of the prompt, once', async () => {
    const bench = hookBench(r);
    const id = await bench.run(
      'say more',
      [
        bench.hook(
          'SessionStart',
          say('SessionStart', { initialUserMessage: 'Read NOTES first.', additionalContext: 'it is Monday' }),
        ),
        bench.hook('UserPromptSubmit', `printf '%s\\n' "$input" >> prompts.jsonl`),
      ],
      { rules: RULES },
    );
    await r.client.send(id, 'go on');
    await r.settled(id);
    const texts = await textsOf(r, id);
    const at = (text: string) => texts.findIndex((one) => one.includes(text));
    expect(at('it is Monday')).toBeLessThan(at('Read NOTES first.'));
    expect(at('Read NOTES first.')).toBeLessThan(at('say more'));
    expect(texts.filter((text) => text.includes('Read NOTES first.'))).toHaveLength(1);
    const prompts = bench.lines('prompts.jsonl').map((line) => (JSON.parse(line) as { prompt: string }).prompt);
    expect(prompts).toEqual(['Read NOTES first.', 'say more', 'go on']);
  });
});
