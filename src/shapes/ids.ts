import { z } from 'zod';

/** Id of a blob: sha256 of its bytes, lower-case hex. */
export const Sha = z.string().regex(/^[0-9a-f]{64}$/);
export type Sha = z.infer<typeof Sha>;

/** A job's id: its workflow id, the name of its folder, and what people type. */
export const JobId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/, 'a job name is 1 to 100 of a-z 0-9 . _ - and starts with a letter or digit');
export type JobId = z.infer<typeof JobId>;

/** Money, in whole millionths of a US dollar. No floats in state. */
export type Micros = number;

/** The id of a `tool_use` block, unique in a job (a repeated one is renamed at the door). */
export type CallId = string;
