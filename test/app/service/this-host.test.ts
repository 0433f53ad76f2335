import { expect, test } from 'vitest';
import { placeOf, thisHost } from '../../../src/app/service/this-host.ts';

const HOME = '0123456789ab';

test('a machine is the same host for a home each time, and another one for another home', () => {
  const host = thisHost(HOME, {});
  expect(host.queue).toMatch(/^nightshift-0123456789ab@[0-9a-f]{12}$/);
  expect(thisHost(HOME, {})).toEqual(host);
  expect(thisHost('ba9876543210', {}).queue.split('@')[1]).not.toBe(host.queue.split('@')[1]);
});

test('another machine can take its place by what is said of it', () => {
  const host = thisHost(HOME, {});
  const [name, value] = placeOf(host).split('=');
  expect(thisHost(HOME, { [name!]: value }).queue).toBe(host.queue);
});

test('a name that no queue can have is refused with what to do', () => {
  for (const bad of ['a b', '@', '-x', 'x'.repeat(65)]) {
    expect(() => thisHost(HOME, { NIGHTSHIFT_HOST: bad })).toThrow(/NIGHTSHIFT_HOST is .* no name of a host/);
  }
});
