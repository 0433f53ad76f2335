// The public names: rehearse jobs with a scripted model, follow what jobs do, describe tools.
export { loadScript, parseScript, ScriptError } from './app/model-server/load-script.ts';
export type { LoggedRequest } from './app/model-server/request-log.ts';
export type { Script } from './app/model-server/script.ts';
export { startModelServer, type ModelServer } from './app/model-server/start-model-server.ts';
export { partition } from './core/partition.ts';
export type { Recovery, Registry, Tool, ToolIo, ToolOutput } from './core/tool.ts';
export { apply, createTimeline, foldEvents } from './core/timeline.ts';
export { followEvents, readEvents } from './host/event-reader.ts';
export type { JobEvent } from './shapes/event.ts';
export type { Timeline } from './shapes/timeline.ts';
export { defineTool } from './tools/define.ts';
export { isConcurrencySafeMcp } from './tools/mcp-safety.ts';
