import type { BashRedirect } from './bash-analysis.ts';

/** Devices that swallow or only show what is written to them. */
const sinks = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

/** Whether a redirection opens no file: a sink, or a descriptor. */
export function opensNoFile(redirect: BashRedirect): boolean {
  const text = redirect.target.value;
  return text !== undefined && (sinks.has(text) || /^\/dev\/fd\/\d+$/.test(text));
}

/** Whether a redirection may open a connection, which bash does for names below `/dev/tcp` and `/dev/udp`. */
export function opensNetwork({ target }: BashRedirect): boolean {
  return target.splits || /^\/dev\/(?:tcp|udp)\b/.test(target.value ?? target.raw.replaceAll(/["'\\]/g, ''));
}
