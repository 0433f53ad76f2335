import { domainCovers, hostOf } from './domains.ts';
import type { CheckedCall } from './call.ts';
import { nameCovers, type CompiledRule } from './compile.ts';
import { oneSpace } from './bash-text.ts';
import { covers, wildcard } from './wildcard.ts';

/** The rule names that speak for a call as a whole: its own, its other names, and that of the tool whose rules it follows. */
export function ruleNames(call: CheckedCall): string[] {
  const family = { read: ['Read'], edit: ['Edit'], bash: ['Bash'], fetch: ['WebFetch'], other: [], none: [] }[
    call.traits.access
  ];
  return [...new Set([call.tool, ...(call.aliases ?? []), ...family])];
}

/** Whether a rule without specifier covers a call. A server's name covers all its tools. */
export function coversWholeTool(rule: CompiledRule, call: CheckedCall): boolean {
  if (!rule.bare) return false;
  const { tool } = rule.rule;
  const server = /^mcp__(.+)$/.exec(tool)?.[1];
  if (server !== undefined && coversServer(rule, server, call)) return true;
  if (server !== undefined && rule.list === 'allow' && !ownServer(server, call)) return false;
  return nameCovers(rule, ruleNames(call));
}

function coversServer(rule: CompiledRule, server: string, call: CheckedCall): boolean {
  if (!call.tool.startsWith('mcp__') || server.includes('*')) return false;
  const actual = call.traits.mcp?.server;
  if (actual !== undefined && normalName(actual) === server) return true;
  return (actual === undefined || rule.list !== 'allow') && call.tool.startsWith(`mcp__${server}__`);
}

/** Server and tool are joined by two underscores, which a server's own name may hold too: an allow rule must name the real server. */
function ownServer(text: string, call: CheckedCall): boolean {
  const actual = call.traits.mcp?.server;
  return actual === undefined || text.startsWith(`${normalName(actual)}__`);
}

function normalName(server: string): string {
  return server.replaceAll(/[^\w-]/g, '_');
}

/** Whether a deny or ask rule `Tool(param:value)` covers a call: a plain field of the model's own input, given and equal. */
export function coversParameter(rule: CompiledRule, call: CheckedCall): boolean {
  if (!rule.parameter || !nameCovers(rule, [call.tool, ...(call.aliases ?? [])])) return false;
  const { input } = call;
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, rule.parameter.name)) return false;
  const value: unknown = Reflect.get(input, rule.parameter.name);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return false;
  return covers(rule.parameter.value, String(value));
}

/** Whether `WebFetch(domain:host)` covers a call. */
export function coversDomain(rule: CompiledRule, call: CheckedCall): boolean {
  if (rule.domain === undefined || call.traits.url === undefined || !nameCovers(rule, ruleNames(call))) return false;
  const host = hostOf(call.traits.url);
  return host !== undefined && domainCovers(rule.domain, host);
}

/** Whether `Agent(name)` or `Skill(name)`, `Skill(name *)` covers a call. */
export function coversNamed(rule: CompiledRule, call: CheckedCall): boolean {
  const { tool, specifier } = rule.rule;
  if (specifier === undefined || !nameCovers(rule, [call.tool, ...(call.aliases ?? [])])) return false;
  if (tool === 'Agent')
    return agentNames(call.input, rule.list === 'allow').some((name) => covers(wildcard(specifier), name));
  if (tool !== 'Skill') return false;
  const skill = textField(call.input, 'skill')?.replace(/^\//, '');
  if (skill === undefined) return false;
  const args = textField(call.input, 'args') ?? '';
  const wanted = oneSpace(specifier.replace(/^\//, ''));
  const prefix = /^([\s\S]+?)(?: |:)\*$/.exec(wanted)?.[1];
  if (prefix === undefined) return skill === wanted && (rule.list !== 'allow' || args.trim() === '');
  const whole = oneSpace(`${skill} ${args}`);
  return whole === prefix || whole.startsWith(`${prefix} `);
}

/** A name that the model gives a sub-agent may get it forbidden, never allowed. */
function agentNames(input: unknown, typeOnly: boolean): string[] {
  const type = textField(input, 'subagent_type') ?? 'general-purpose';
  const name = typeOnly ? undefined : textField(input, 'name');
  return name === undefined ? [type] : [type, name];
}

function textField(input: unknown, name: string): string | undefined {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, name)) return undefined;
  const value: unknown = Reflect.get(input, name);
  return typeof value === 'string' ? value : undefined;
}
