const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['opus', 'claude-opus-5-5'],
  ['opusplan', 'claude-opus-5-5'],
  ['sonnet', 'claude-sonnet-5-5'],
  ['haiku', 'claude-haiku-5-5'],
]);

/** The model when nobody names one. */
export const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** The id of the model that a setting or flag names: a short name as settings files use them, `default`, or an id as it is. */
export function modelNamed(name: string): string {
  const given = name.trim();
  const short = given.toLowerCase().replace(/\[1m\]$/, '');
  return short === 'default' ? DEFAULT_MODEL : (SHORT_NAMES.get(short) ?? given);
}
