import assert from 'node:assert/strict';
import test from 'node:test';
import { format, split } from '../src/money.js';
import { receipt } from '../src/receipt.js';

test('the parts add up to the amount', () => {
  assert.deepEqual(split(1000, 3), [334, 333, 333]);
});

test('cents have two digits', () => {
  assert.equal(format(1205), '12.05');
});

test('a receipt names every guest', () => {
  assert.deepEqual(receipt(1000, ['Ada', 'Bob']), ['Ada: 5.00', 'Bob: 5.00']);
});
