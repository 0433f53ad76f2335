import { z } from 'zod';

/** A skill as its folder defines it. Its name is that of the folder. */
export const SkillDefinition = z.object({
  name: z.string().min(1),
  description: z.string(),
  argumentHint: z.string().optional(),
  /** Calls that need no question in the turn that starts it. */
  allowedTools: z.array(z.string()).optional(),
  model: z.string().optional(),
  /** The model may not start it by itself. */
  userOnly: z.boolean(),
  /** It runs as a sub-agent. */
  fork: z.boolean(),
  body: z.string(),
  scope: z.enum(['project', 'user']),
  /** Absolute path of its SKILL.md. */
  origin: z.string(),
});
export type SkillDefinition = z.infer<typeof SkillDefinition>;
