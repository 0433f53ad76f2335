import { covers, STAR, wildcard, type Pattern } from './wildcard.ts';

/** The host of a URL as rules see it: lower case, no port, no trailing dots. `undefined` when it is no web address. */
export function hostOf(url: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') return undefined;
    return hostname.toLowerCase().replace(/\.+$/, '') || undefined;
  } catch {
    return undefined;
  }
}

/** Whether the host of a `domain:` rule covers a host: `*.` in front is any depth of subdomain but not the domain itself, any other `*` stays inside one label. */
export function domainCovers(pattern: string, host: string): boolean {
  const wanted = pattern.trim().toLowerCase().replace(/\.+$/, '');
  if (wanted === '*') return true;
  if (wanted.startsWith('*.')) {
    const rest = wanted.slice(2).split('.').length;
    const labels = host.split('.');
    if (labels.length <= rest) return false;
    return labelsCover(wanted.slice(2).split('.'), labels.slice(labels.length - rest));
  }
  return labelsCover(wanted.split('.'), host.split('.'));
}

function labelsCover(pattern: string[], labels: string[]): boolean {
  if (pattern.length !== labels.length) return false;
  return pattern.every((want, i) => {
    const label: Pattern = wildcard(want);
    return covers(label, labels[i]!) && (labels[i] !== '' || !label.includes(STAR));
  });
}
