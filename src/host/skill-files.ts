import { basename, dirname, join } from 'node:path';
import type { ConfigProblem } from '../shapes/settings.ts';
import type { SkillDefinition } from '../shapes/skill.ts';
import type { ConfigDirs } from './agent-files.ts';
import { type ConfigFolder, filesBelow, nearestFirst } from './config-folder.ts';
import { listOf, readFrontMatter, switchOf } from './front-matter.ts';

export type SkillFiles = { skills: SkillDefinition[]; problems: ConfigProblem[] };

/** The skills of a folder. The user's own come before those of the folder, there the nearer ones first. */
export async function readSkillFiles({ dir, root, userConfig }: ConfigDirs): Promise<SkillFiles> {
  const problems: ConfigProblem[] = [];
  const byName = new Map<string, SkillDefinition>();
  const folders: (ConfigFolder & { scope: SkillDefinition['scope'] })[] = [
    { path: join(userConfig, 'skills'), scope: 'user' },
    ...nearestFirst(dir, root, join('.claude', 'skills')).map((folder) => ({ ...folder, scope: 'project' as const })),
  ];
  for (const { scope, ...folder } of folders) {
    const isSkill = (path: string): boolean => basename(path) === 'SKILL.md' && dirname(dirname(path)) === folder.path;
    for (const path of await filesBelow(folder, { fits: isSkill, depth: 2, problems })) {
      const skill = await readSkillFile(path, scope, problems);
      if (skill !== undefined && !byName.has(skill.name)) byName.set(skill.name, skill);
    }
  }
  return { skills: [...byName.values()], problems };
}

/** One skill from its file; `undefined`, with a problem that says why, when the file can't be read. */
export async function readSkillFile(
  path: string,
  scope: SkillDefinition['scope'],
  problems: ConfigProblem[],
): Promise<SkillDefinition | undefined> {
  const file = await readFrontMatter(path);
  if (file.kind === 'nothing') return undefined;
  if (file.kind === 'refused') {
    const { kind: _, why, ...place } = file;
    problems.push({ file: path, ...place, text: `${why} The skill is left out.`, stops: false });
    return undefined;
  }
  const { head, body } = file;
  const text = (key: string): string | undefined => (typeof head[key] === 'string' ? head[key].trim() : undefined);
  const [hint, model, allowed] = [text('argument-hint'), text('model'), listOf(head['allowed-tools'])];
  return {
    name: basename(dirname(path)),
    description: [text('description') ?? firstLine(body), text('when_to_use')].filter(Boolean).join(' '),
    ...(hint === undefined ? {} : { argumentHint: hint }),
    ...(allowed === undefined ? {} : { allowedTools: allowed }),
    ...(model === undefined ? {} : { model }),
    userOnly: switchOf(head['disable-model-invocation']) ?? false,
    fork: text('context') === 'fork',
    body,
    scope,
    origin: path,
  };
}

function firstLine(body: string): string {
  const line = body.split('\n').find((line) => line.trim() !== '');
  return (line ?? '').replace(/^#+\s*/, '').trim();
}
