import type { z } from 'zod';

/** What a schema finds wrong, as the end of a sentence that begins with the place. */
export function issueText(issue: z.core.$ZodIssue): string {
  const types = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue.message);
  if (types) return `must be ${NAMES[types[1]!] ?? types[1]}, not ${NAMES[types[2]!] ?? types[2]}`;
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  if (issue.code === 'unrecognized_keys') return `holds what nobody reads: ${issue.keys.join(', ')}`;
  if (issue.code === 'too_small') return 'must not be empty or zero';
  if (issue.code === 'invalid_union') return 'has none of the forms that it may have';
  return `is wrong: ${issue.message}`;
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  undefined: 'missing',
};
