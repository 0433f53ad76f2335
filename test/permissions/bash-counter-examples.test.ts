import { expect, test } from 'vitest';
import { bashVerdict } from './support.ts';

/** Commands that real bash ran `rm` for although an earlier analysis had let them through. */
const found = ['env A=b nice -n 3 {rm,}', 'bash <<< "eval "wc - <<< rm""', '. <(echo rm x)'];

test.each(found)('%j does not get past a deny rule', (command) => {
  expect(bashVerdict({ allow: ['Bash'], deny: ['Bash(rm *)'] }, command)).not.toBe('allow');
  expect(bashVerdict({ mode: 'bypassPermissions', deny: ['Bash(rm *)'] }, command)).not.toBe('allow');
});
