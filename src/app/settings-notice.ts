import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import type { Env } from './io.ts';

/** One line when settings files with permission rules exist, because this version does not read them. */
export function settingsNotice(dir: string, env: Env): string | undefined {
  const user = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
  const files = [
    join(dir, '.claude', 'settings.json'),
    join(dir, '.claude', 'settings.local.json'),
    join(user, 'settings.json'),
  ];
  const found = files.filter(hasPermissions);
  if (found.length === 0) return undefined;
  return `note: the permission rules in ${found.join(', ')} are not read yet; give them with --allow, --ask and --deny`;
}

function hasPermissions(file: string): boolean {
  try {
    const settings: unknown = parse(readFileSync(file, 'utf8'));
    return typeof settings === 'object' && settings !== null && 'permissions' in settings;
  } catch {
    return false;
  }
}
