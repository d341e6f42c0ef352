// What was changed of a bot: by key, without secrets, and short enough for an event.

import { expect, it } from 'vitest';
import { changeOf } from '../../../src/main/bots/config-change.js';
import type { BotParts } from '../../../src/shared/contract/config-changes.js';
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
  expect(changeOf(parts(), after, ['password'])).toEqual({
    config: { size: { from: 3, to: 5 }, gone: { from: true }, words: { to: ['a'] } },
    labels: { team: { to: 'a' } },
    secrets: ['password'],
  });
  expect(changeOf(parts(), parts(), [])).toBeNull();
});

it('leaves out values that do not fit, and says so', () => {
  const after = parts({ config: { size: 3, gone: true, text: 'x'.repeat(MAX_MESSAGE_UNITS) } });
  expect(changeOf(parts(), after, [])).toEqual({ config: { text: {} }, cut: true });
});
