// Run by vitest. Which tokens are accepted, however they arrive.

import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Authenticator } from '../../../src/front/access/auth.js';
import type { Exchange } from '../../../src/front/engine/engine.js';
import type { TokenRecord } from '../../../src/shared/contract/tokens.js';
import { DroverError } from '../../../src/shared/errors.js';
import { tokenDigest } from '../../../src/shared/token-digest.js';
import { usedMemory } from '../bot-host/heap.js';

const HERE = { address: '192.0.2.1', client: 'curl' };

const record = (token: string, id = 'one', expires: number | null = null): TokenRecord => ({
  id,
  digest: tokenDigest(token),
  name: 'pin',
  by_pin: true,
  scopes: ['admin'],
  reach: null,
  created_at_ms: 0,
  created_by: null,
  expires_at_ms: expires,
});

function request(authorization: string, query = ''): Exchange {
  const unexpected = () => expect.unreachable('authentication only looks');
  return {
    method: 'GET',
    path: '/api-info',
    query,
    aborted: false,
    slot: undefined,
    token: undefined,
    route: 0,
    refusal: undefined,
    address: '',
    headers: () => [],
    header: (name) => (name === 'authorization' ? authorization : ''),
    body: unexpected,
    gone: unexpected,
    onGone: unexpected,
    respond: unexpected,
    stream: unexpected,
  };
}

function codeOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof DroverError) return thrown.code;
    throw thrown;
  }
  return 'accepted';
}

const tokens = fc
  .uint8Array({ minLength: 48, maxLength: 48 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));

describe('a token', () => {
  it('is accepted in the header and in the query, encoded, raw, or with its + turned to a space', () => {
    fc.assert(
      fc.property(tokens, (token) => {
        const auth = new Authenticator([record(token)]);
        const spaced = token.replaceAll('+', '%20');
        const requests = [
          request(`Bearer ${token}`),
          request(`bearer   ${token} `),
          request('', `token=${encodeURIComponent(token)}`),
          request('', `token=${token}`),
          request('', `token=${spaced}`),
          request('', `event=log&token=${token}&snapshot=0`),
        ];
        // Twice: the second time the answer is remembered.
        for (const sent of [...requests, ...requests]) {
          expect(auth.authenticate(sent)).toEqual({ token, record: record(token) });
        }
      }),
    );
  });

  it('is missing when neither holds one', () => {
    const auth = new Authenticator([record('x')]);
    expect(codeOf(() => auth.authenticate(request('')))).toBe('missing_token');
    expect(codeOf(() => auth.authenticate(request('', 'token=')))).toBe('missing_token');
    expect(codeOf(() => auth.authenticate(request('', 'Token=x')))).toBe('missing_token');
  });

  it('is refused when it is unknown, and stays refused until it is added', () => {
    fc.assert(
      fc.property(tokens, tokens, (known, other) => {
        fc.pre(known !== other);
        const auth = new Authenticator([record(known)]);
        for (const sent of [request(`Bearer ${other}`), request('', `token=${other}`)]) {
          expect(codeOf(() => auth.authenticate(sent))).toBe('invalid_token');
        }
        auth.add(record(other, 'two'));
        expect(auth.authenticate(request(`Bearer ${other}`)).record.id).toBe('two');
        expect(auth.authenticate(request('', `token=${other}`)).record.id).toBe('two');
      }),
    );
  });

  it('is not taken from a header that is not a bearer token, also when the query has a good one', () => {
    const auth = new Authenticator([record('good')]);
    for (const header of [
      'good',
      'Basic good',
      'Bearer',
      'Bearer ',
      'Bearer good extra',
      'Bearergood',
    ]) {
      const sent = request(header, 'token=good');
      expect(codeOf(() => auth.authenticate(sent))).toBe('invalid_token');
    }
  });

  it('does not become good in the query because the same text was a good header', () => {
    const auth = new Authenticator([record('good')]);
    auth.authenticate(request('Bearer good'));
    const sent = request('', `token=${encodeURIComponent('Bearer good')}`);
    expect(codeOf(() => auth.authenticate(sent))).toBe('invalid_token');
  });

  it('is refused from the moment on at which it is removed, also where it was remembered', () => {
    const auth = new Authenticator([record('one'), record('other', 'two')]);
    const sent = [request('Bearer one'), request('', 'token=one')];
    const caller = auth.authenticate(sent[0] as Exchange);
    auth.authenticate(sent[1] as Exchange);
    auth.recheck(caller);
    auth.remove('one');
    auth.remove('never there');
    for (const each of sent) expect(codeOf(() => auth.authenticate(each))).toBe('invalid_token');
    expect(codeOf(() => auth.recheck(caller))).toBe('invalid_token');
    expect(codeOf(() => auth.fromTicket('one', HERE))).toBe('invalid_ticket');
    expect(auth.authenticate(request('Bearer other')).record.id).toBe('two');
  });

  it('is remembered once, however its header was written, and without the rest of it', () => {
    const count = 2000;
    const list = Array.from({ length: count }, (_, n) => `${n}`.padStart(64, 'a'));
    const auth = new Authenticator(list.map((token) => record(token, token)));
    // Known, so that what is measured is what their spellings add.
    for (const token of list) auth.authenticate(request(`Bearer ${token}`));
    const other = new Authenticator(list.map((token) => record(token, token)));
    const before = usedMemory();
    for (const [n, token] of list.entries()) {
      const sent = `bearer ${token}${' '.repeat(15_000 + n)}`;
      for (const each of [auth, other]) expect(each.authenticate(request(sent)).token).toBe(token);
    }
    // All headers would be 32 MB.
    expect(usedMemory() - before).toBeLessThan(10e6);
    expect(auth.authenticate(request(`Bearer ${list[0]}`)).token).toBe(list[0]);
  });

  it('is refused from its expiry on, also where it was remembered', () => {
    vi.useFakeTimers({ now: 1000, toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const auth = new Authenticator([record('brief', 'one', 2000)]);
    const sent = request('Bearer brief');
    const caller = auth.authenticate(sent);
    vi.setSystemTime(1999);
    auth.authenticate(sent);
    auth.recheck(caller);
    vi.setSystemTime(2000);
    expect(codeOf(() => auth.authenticate(sent))).toBe('invalid_token');
    expect(codeOf(() => auth.recheck(caller))).toBe('invalid_token');
    expect(codeOf(() => auth.fromTicket('one', HERE))).toBe('invalid_ticket');
  });

  it('has its last use told once', () => {
    vi.useFakeTimers({ now: 1000, toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const auth = new Authenticator([record('a', 'one'), record('b', 'two'), record('c', 'three')]);
    auth.authenticate(request('Bearer a'));
    vi.setSystemTime(1500);
    auth.authenticate(request('Bearer a'));
    expect(auth.fromTicket('two', HERE).record.id).toBe('two');
    codeOf(() => auth.authenticate(request('Bearer nobody')));
    expect(auth.takeUses()).toEqual({
      one: { at_ms: 1500, from: { address: '', client: null } },
      two: { at_ms: 1500, from: HERE },
    });
    expect(auth.takeUses()).toEqual({});
  });
});
