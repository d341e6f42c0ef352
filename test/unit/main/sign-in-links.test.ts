// The time and the number of sign-in links; test/routes/sign-in-links.test.ts has what clients see.

import { expect, it } from 'vitest';
import { LINK_MS, SignInLinks } from '../../../src/main/access/sign-in-links.js';

const BODY = { name: 'Ada', scopes: ['read' as const] };
const GONE = expect.objectContaining({ code: 'invalid_link' });

function setUp() {
  const clock = { now: 1000 };
  const names = new Map([
    ['a', 'Grace'],
    ['b', 'Linus'],
  ]);
  const told: string[] = [];
  const events = { linkCreated: (scopes: string, by: string) => void told.push(`${scopes} ${by}`) };
  const links = new SignInLinks({ nameOf: (id) => names.get(id) }, events, () => clock.now);
  return { clock, names, told, links };
}

it('a link is valid until its time, and only as long as its token is', () => {
  const { clock, names, links, told } = setUp();
  const { link, expires_at_ms } = links.create(BODY, 'a');
  const other = links.create(BODY, 'b');
  expect(told).toEqual(['read token "Grace" (a)', 'read token "Linus" (b)']);
  expect(expires_at_ms).toBe(1000 + LINK_MS);
  clock.now = expires_at_ms - 1;
  expect(links.check(link)).toMatchObject({ created_by: 'Grace', ...BODY });
  names.delete('b');
  expect(() => links.check(other.link)).toThrow(GONE);
  expect(() => links.take(other.link)).toThrow(GONE);
  clock.now = expires_at_ms;
  expect(() => links.check(link)).toThrow(GONE);
  expect(() => links.take(link)).toThrow(GONE);
  expect(() => links.create(BODY, 'b')).toThrow(expect.objectContaining({ code: 'invalid_token' }));
});

it('a token makes at most a hundred that wait; a used one makes room', () => {
  const { links } = setUp();
  const { link } = links.create(BODY, 'a');
  for (let n = 1; n < 100; n++) links.create(BODY, 'a');
  expect(() => links.create(BODY, 'a')).toThrow('too many sign-in links of this token wait');
  links.create(BODY, 'b');
  expect(links.take(link)).toEqual({ body: BODY, maker: { id: 'a', name: 'Grace' } });
  links.create(BODY, 'a');
});
