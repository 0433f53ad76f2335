import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { decide } from '../../src/permissions/chain.ts';
import { checkedCall, place, plainContext, rulesOf } from '../permissions/support.ts';

const many = (make: (n: number) => string, count: number): string[] => Array.from({ length: count }, (_, n) => make(n));

/** Five hundred rules of every kind, none of which decides early. */
const rules = rulesOf({
  deny: [
    ...many((n) => `Bash(evil${n} *)`, 100),
    ...many((n) => `Read(secret${n}/**)`, 50),
    ...many((n) => `Edit(//locked/${n}/*.ts)`, 50),
    'mcp__bad',
  ],
  ask: [...many((n) => `Bash(git push${n} *)`, 50), ...many((n) => `WebFetch(domain:*.d${n}.example)`, 50)],
  allow: [...many((n) => `Bash(tool${n}:*)`, 100), ...many((n) => `Edit(src${n}/**)`, 99)],
});

const calls = [
  checkedCall('Bash', { command: 'cd src && npm test -- --grep "x y" 2>&1 | tail -n 20' }, place.root),
  checkedCall('Bash', { command: 'git commit -m "$(cat <<\'EOF\'\nfix: x\nEOF\n)"' }, place.root),
  checkedCall('Bash', { command: 'cat src/a.ts src/b.ts | grep -n TODO | wc -l' }, place.root),
  checkedCall('Read', { file_path: '/work/proj/src/deep/er/a.ts' }, place.root),
  checkedCall('Edit', { file_path: '/work/proj/src98/a.ts' }, place.root),
  checkedCall('WebFetch', { url: 'https://a.example.com/' }, place.root),
];

/** Milliseconds of the middle one of many decisions. */
function medianOf(call: (typeof calls)[number]): number {
  const times = Array.from({ length: 201 }, () => {
    const start = performance.now();
    decide(call, rules, plainContext());
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[100]!;
}

test('a decision under 500 rules costs less than a millisecond', () => {
  expect(rules.deny.length + rules.ask.length + rules.allow.length).toBe(500);
  for (const call of calls) {
    const medians = [medianOf(call), medianOf(call), medianOf(call)];
    expect(Math.min(...medians), JSON.stringify(call.input)).toBeLessThan(1);
  }
});

test('and no command makes it slow', () => {
  const nasty = [
    `${'sudo '.repeat(1900)}x`,
    `echo ${'$('.repeat(3000)}`,
    `echo ${'"$('.repeat(1500)}`,
    'a;'.repeat(4900),
    `cat ${'a '.repeat(4900)}`,
    `git ${'$X '.repeat(3000)}`,
    `cat ${'* '.repeat(4900)}`,
    'cd a;'.repeat(1900),
    `find ${'-exec sudo x ; '.repeat(600)}`,
    `echo ${'{a,'.repeat(3000)}`,
    `${'timeout 5 '.repeat(990)}x`,
    'cat <<E\n'.repeat(1200),
    `echo ${"'".repeat(9000)}`,
    `cat ${'a/**/'.repeat(1800)}*`,
    `sed -n '${'/a/,/b/p;'.repeat(1000)}' x`,
    `env ${'-S '.repeat(3000)}`,
    `sed '${'/'.repeat(9900)}' x`,
    `sed '${'\\\\aea'.repeat(2400)}' x`,
    `sed '${'/e/,/e/s/e/e/g;'.repeat(600)}' x`,
    `sed '${'s/e/'.repeat(2400)}' x`,
    `xargs -I% ${'% '.repeat(4900)}`,
    'xargs '.repeat(1600),
    `find . -exec ${'env {} '.repeat(1400)} ;`,
    `read ${'a[1] '.repeat(1900)}`,
    `declare ${'a['.repeat(4900)}`,
    `. ${'a/../'.repeat(1900)}`,
    `bash ${'-o '.repeat(3000)}`,
  ];
  for (const command of nasty) {
    const start = process.cpuUsage(); // others may have this machine meanwhile
    expect(['ask', 'allow']).toContain(
      decide(checkedCall('Bash', { command }, place.root), rules, plainContext()).behavior,
    );
    expect(process.cpuUsage(start).user / 1000, command.slice(0, 40)).toBeLessThan(1500);
  }
});
