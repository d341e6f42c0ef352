import { expect, it } from 'vitest';
import { addressBytes } from '../../../src/shared/contract/addresses.js';
import { Networks } from '../../../src/shared/contract/networks.js';

const has = (networks: string[], address: string): boolean =>
  new Networks(networks).has(addressBytes(address));

it.each([
  ['10.0.0.0/8', '10.255.0.1', '11.0.0.0'],
  ['10.1.2.3', '10.1.2.3', '10.1.2.2'],
  ['10.1.2.3/32', '::ffff:10.1.2.3', '10.1.2.4'],
  ['192.168.4.0/22', '192.168.7.255', '192.168.8.0'],
  ['172.16.0.0/12', '172.31.255.255', '172.32.0.0'],
  ['0.0.0.0/0', '255.255.255.255', '::1'],
  ['::/0', 'fd00::1', '1.2.3.4'],
  ['::ffff:10.1.2.3', '10.1.2.3', '10.1.2.4'],
  ['::1', '0000:0000:0000:0000:0000:0000:0000:0001', '::2'],
  ['fd00::/8', 'fdff::1', 'fe00::1'],
  ['2001:db8:0:10::/60', '2001:db8:0:1f::1', '2001:db8:0:20::'],
])('%s has %s and not %s', (network, inside, outside) => {
  expect([has([network], inside), has(['203.0.113.1', network], inside)]).toEqual([true, true]);
  expect([has([network], outside), has([], inside)]).toEqual([false, false]);
});

it.each([
  '',
  'a',
  '10.0.0',
  '10.0.0.0/33',
  '::/129',
  '10.0.0.0/8/8',
  '::ffff:10.0.0.0/104',
  '10.0.0.0/',
  '1.2.3.4/-1',
])('%j is neither an address nor a network', (text) => {
  expect(() => new Networks(['::1', text])).toThrow(
    `${JSON.stringify(text)} is neither an address nor a network`,
  );
});
