// A token that is limited by labels commands the bots that have them when the command begins, also when labels change on its way.

import { expect, it, vi } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create, FIXTURE_KINDS } from '../harness/bots.js';
import { inject } from '../harness/inject.js';
import { InjectedHost } from '../harness/injected-host.js';
import { makeToken } from '../harness/tokens.js';

it.each([
  ['one bot', 'a'],
  ['a list of bots', ['a', 'b']],
])(
  'a command for %s that main has allowed does not begin once the labels have changed',
  async (_, session_id) => {
    const service = await inject({ config: { kinds: [FIXTURE_KINDS] } });
    for (const id of ['a', 'b']) {
      const made = await create(service, { id, kind: 'faulty', labels: { team: 'x' } });
      expect(made.status).toBe(201);
    }
    const { token } = await makeToken(service, { scopes: ['invoke'], labels: { team: 'x' } });
    // The channel to the host is what its first command waits for, after main has allowed it.
    const connect = InjectedHost.prototype.connectFront;
    vi.spyOn(InjectedHost.prototype, 'connectFront').mockImplementationOnce(async function (
      this: InjectedHost,
    ) {
      const body = { labels: { team: 'y' } };
      expect((await call(service, 'PATCH', '/api/bots/a', { body })).status).toBe(200);
      return connect.call(this);
    });
    const body = { session_id, command: 'cause', args: { fault: 'nothing' } };
    const answer = await call(service, 'POST', '/invoke', { token, body });
    if (session_id === 'a') expectError(answer, 404, 'no bot "a"');
    else {
      expect(answer.json).toMatchObject({
        results: { a: { error: 'no bot "a"' }, b: { error: expect.stringContaining('fault') } },
      });
    }
    // It still has those that it reaches, and `a` is there for others.
    const others = { ...body, session_id: ['a', 'b'] };
    expect((await call(service, 'POST', '/invoke', { token, body: others })).json).toMatchObject({
      results: { a: { error: 'no bot "a"' }, b: { error: expect.stringContaining('fault') } },
    });
    expect((await call(service, 'POST', '/invoke', { body: others })).json).toMatchObject({
      results: { a: { error: expect.stringContaining('fault') } },
    });
  },
);
