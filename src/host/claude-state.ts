import { z } from 'zod';
import { readText } from './read-text.ts';

/** What of Claude Code's own state file means something here; the file holds much else. */
const ClaudeState = z.object({
  projects: z
    .record(
      z.string(),
      z
        .object({ hasTrustDialogAccepted: z.boolean().optional().catch(undefined), mcpServers: z.unknown().optional() })
        .catch({}),
    )
    .catch({})
    .default({}),
  mcpServers: z.unknown().optional(),
});
export type ClaudeState = z.infer<typeof ClaudeState> & { file: string };

const MAX_BYTES = 256 * 1024 * 1024;

/** Claude Code's state, from the first of these files that can be read. A damaged one says nothing. */
export async function readClaudeState(paths: readonly string[]): Promise<ClaudeState | undefined> {
  for (const file of paths) {
    const read = await readText(file, MAX_BYTES);
    const state = read.kind === 'read' ? ClaudeState.safeParse(jsonOf(read.text)) : undefined;
    if (state?.success) return { ...state.data, file };
  }
  return undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
