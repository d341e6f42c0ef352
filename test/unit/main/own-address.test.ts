import { expect, it } from 'vitest';
import { ownAddress } from '../../../src/main/environment/own-address.js';
import { authorityOf } from '../../../src/shared/contract/addresses.js';

const v4 = (address: string, internal = false) => ({ address, family: 'IPv4' as const, internal });
const v6 = (address: string, internal = false) => ({ address, family: 'IPv6' as const, internal });
const ALL = {
  lo: [v4('127.0.0.1', true), v6('::1', true)],
  eth0: [v6('fe80::1'), v6('2001:db8::5'), v4('10.0.0.11')],
};

it('is one that leads to the machine, also when the service listens on all', () => {
  expect(ownAddress('http', '0.0.0.0', 8090, ALL)).toBe('http://10.0.0.11:8090');
  expect(ownAddress('https', '::', 8090, ALL)).toBe('https://10.0.0.11:8090');
  const only6 = { ...ALL, eth0: ALL.eth0.slice(0, 2) };
  expect(ownAddress('http', '::', 8090, only6)).toBe('http://[2001:db8::5]:8090');
  expect(ownAddress('http', '0.0.0.0', 8090, { lo: ALL.lo })).toBe('http://127.0.0.1:8090');
});

it('is the configured one if that is one', () => {
  expect(ownAddress('http', '10.0.0.7', 80, ALL)).toBe('http://10.0.0.7:80');
  expect(ownAddress('http', 'h1.example.net', 80, ALL)).toBe('http://h1.example.net:80');
  expect(ownAddress('http', '2001:db8::1', 80, ALL)).toBe('http://[2001:db8::1]:80');
});

it('an IPv6 address has brackets in a URL', () => {
  expect(authorityOf('::1', 8090)).toBe('[::1]:8090');
  expect(authorityOf('127.0.0.1', 0)).toBe('127.0.0.1:0');
});
