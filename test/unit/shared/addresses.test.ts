// One client, however its address is written.

import { expect, it } from 'vitest';
import { addressKeyOf } from '../../../src/shared/contract/addresses.js';

it.each([
  ['192.168.0.2', 'c0a80002'],
  ['::ffff:192.168.0.2', 'c0a80002'],
  ['::ffff:c0a8:2', 'c0a80002'],
  ['0000:0000:0000:0000:0000:ffff:c0a8:0002', 'c0a80002'],
  ['::1', '0000000000000000'],
  ['2001:db8:1:2:3:4:5:6', '20010db800010002'],
  ['2001:db8:1:2::', '20010db800010002'],
  ['2001:db8:1:2:ffff::6', '20010db800010002'],
  ['2001:0db8:0001:0002:0003:0004:0005:0007', '20010db800010002'],
  ['fe80::5054:ff:fe1d:adb6%eth0', 'fe80000000000000'],
])('%s counts as %s', (text, key) => {
  expect(addressKeyOf(text)).toBe(key);
});
