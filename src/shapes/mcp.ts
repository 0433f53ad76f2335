import { z } from 'zod';

const Texts = z.record(z.string(), z.string());

const shared = {
  /** Milliseconds that one call may take. */
  timeout: z.number().positive().optional(),
  /** Its tools are offered at once, never only by name. */
  alwaysLoad: z.boolean().optional(),
};

/** A server that is a program of this machine. */
export const StdioServer = z.looseObject({
  ...shared,
  type: z.literal('stdio').default('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: Texts.default({}),
});
export type StdioServer = z.infer<typeof StdioServer>;

/** A server that is reached over the network. */
export const RemoteServer = z.looseObject({
  ...shared,
  type: z.enum(['http', 'sse', 'ws']),
  url: z.url(),
  headers: Texts.default({}),
  headersHelper: z.string().optional(),
});
export type RemoteServer = z.infer<typeof RemoteServer>;

/** How to reach one MCP server, its variables not yet filled in. */
export const McpServer = z.union([StdioServer, RemoteServer]);
export type McpServer = z.infer<typeof McpServer>;
