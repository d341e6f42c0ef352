// Cordon, uncordon and drain: a node is asked itself, because only it writes its record.

import { expect, it, vi } from 'vitest';
import { NodeActions } from '../../../../src/cluster/control/node-actions.js';
import type { Member } from '../../../../src/cluster/control/parts.js';
import type { CallMethods } from '../../../../src/cluster/wire/call-server.js';
import type { Calls } from '../../../../src/cluster/wire/calls.js';

const members = {
  self: 'h1',
  get: (node: string) =>
    ({ h2: { isLive: true }, h3: { isLive: false } })[node] as Member | undefined,
};

function make() {
  let served: CallMethods = {};
  const call = vi.fn(async (_node: string, method: string, input: unknown) => {
    const answer = await served[method]?.(input as never, new AbortController().signal);
    return { ...(answer as object), node: 'h2' };
  });
  const calls: Calls = {
    call,
    serve(methods) {
      served = methods;
    },
  };
  const want = vi.fn(async (wanted: string) => ({ node: 'h1', state: wanted, is_self: true }));
  return { actions: new NodeActions(members, calls, want as never), call, want };
}

it('does it here', async () => {
  const { actions, call, want } = make();
  expect(await actions.act('h1', 'cordon')).toMatchObject({ state: 'cordoned', is_self: true });
  expect(want).toHaveBeenCalledWith('cordoned');
  expect(call).not.toHaveBeenCalled();
});

it('asks another node, which is not this one in the answer', async () => {
  const { actions } = make();
  const node = await actions.act('h2', 'drain');
  expect(node).toEqual({ node: 'h2', state: 'draining', is_self: false });
  expect(await actions.act('h2', 'uncordon')).toMatchObject({ state: 'live' });
});

it('asks no node that is not known or lost', async () => {
  const { actions, call } = make();
  await expect(actions.act('h9', 'drain')).rejects.toMatchObject({ code: 'not_found' });
  await expect(actions.act('h3', 'drain')).rejects.toThrow(
    'node h3 cannot be reached: its lease has run out',
  );
  expect(call).not.toHaveBeenCalled();
});
