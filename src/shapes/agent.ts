import { z } from 'zod';
import { Mode } from './permission.ts';

/** A sub-agent as its file defines it. What nobody has said is absent. */
export const AgentDefinition = z.object({
  name: z.string().regex(/^[^:-][^:]*$/, 'a name has no colon and does not begin with a hyphen'),
  description: z.string().min(1),
  /** Tools that it may have; absent: all that a sub-agent gets. */
  tools: z.array(z.string()).optional(),
  disallowedTools: z.array(z.string()).optional(),
  /** A model's name, or `inherit`. */
  model: z.string().optional(),
  permissionMode: Mode.optional(),
  maxTurns: z.int().positive().optional(),
  skills: z.array(z.string()).optional(),
  background: z.boolean().optional(),
  /** As the file has them; for whoever starts the agent to read. */
  mcpServers: z.unknown().optional(),
  hooks: z.unknown().optional(),
  /** Its system prompt. */
  prompt: z.string(),
  scope: z.enum(['project', 'user']),
  /** Absolute path of its file. */
  origin: z.string(),
});
export type AgentDefinition = z.infer<typeof AgentDefinition>;
