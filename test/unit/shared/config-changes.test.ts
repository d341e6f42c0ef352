// The line that says who changed what of a bot: it can be read back, holds no secret, and fits into a frame.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { changeMessage } from '../../../src/main/bots/config-change.js';
import { type BotParts, readChangeMessage } from '../../../src/shared/contract/config-changes.js';
import { MAX_MESSAGE_UNITS } from '../../../src/shared/contract/line-text.js';

const parts = (more: Partial<BotParts> = {}): BotParts => ({
  config: { size: 3, gone: true },
  labels: {},
  restart: { max_restarts: 60 },
  placement: {},
  ...more,
});

it('says by key what was before and what is now', () => {
  const after = parts({ config: { size: 5, words: ['a'] }, labels: { team: 'a' } });
  const message = changeMessage('Ada "the first"', parts(), after, ['password']);
  expect(message).toBe(
    'changed by "Ada \\"the first\\"": {"config":{"size":{"from":3,"to":5},"gone":{"from":true},"words":{"to":["a"]}},"labels":{"team":{"to":"a"}},"secrets":["password"]}',
  );
  expect(readChangeMessage(message ?? '')).toEqual({
    by: 'Ada "the first"',
    change: {
      config: { size: { from: 3, to: 5 }, gone: { from: true }, words: { to: ['a'] } },
      labels: { team: { to: 'a' } },
      secrets: ['password'],
    },
  });
  expect(changeMessage('Ada', parts(), parts(), [])).toBeNull();
});

it('is read back for any author and any values', () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (by, value) => {
      const to = JSON.parse(JSON.stringify(value)) as never;
      const message = changeMessage(by, parts(), parts({ config: { it: to } }), []);
      expect(readChangeMessage(message ?? '')).toMatchObject({
        by,
        change: { config: { it: { to } } },
      });
    }),
  );
  for (const other of ['', 'changed by me: {}', 'changed by "a": {', 'x changed by "a": {}']) {
    expect(readChangeMessage(other)).toBeUndefined();
  }
});

it('leaves out values that do not fit, and says so', () => {
  const after = parts({ config: { size: 3, gone: true, text: 'x'.repeat(MAX_MESSAGE_UNITS) } });
  const message = changeMessage('Ada', parts(), after, []) ?? '';
  expect(message.length).toBeLessThan(200);
  expect(readChangeMessage(message)?.change).toEqual({ config: { text: {} }, cut: true });
});
