// The lines about what requests do to bots.

import { expect, it } from 'vitest';
import { actionLine, actionsLine, changeLine } from '../../../src/main/bots/control-lines.js';
import type { BotSpec } from '../../../src/shared/contract/bots.js';
import type { Item } from '../../../src/shared/contract/events.js';

const SPEC = {
  id: 'a',
  kind: 'demo',
  config: { host: 'x', password: 'old secret' },
  labels: { team: 'red' },
  restart: { policy: 'always' },
} as unknown as BotSpec;

function said(item: Item | null): [string | null, string] | null {
  if (item?.kind !== 'log') return null;
  expect([item.scope, item.level]).toEqual(['control', 'info']);
  return [item.session_id, JSON.parse(item.message_json)];
}

it('a change is named by what has changed, without values', () => {
  const config = { password: 'new secret', host: 'x', port: 1 };
  const line = said(changeLine(SPEC, { ...SPEC, config, labels: {} }));
  expect(line).toEqual(['a', 'configuration changed: password, port; settings changed: labels']);
  expect(said(changeLine(SPEC, { ...SPEC, labels: { ...SPEC.labels } }))).toBeNull();
  const without = said(changeLine(SPEC, { ...SPEC, config: {}, quota: {} }));
  expect(without).toEqual(['a', 'configuration changed: host, password; settings changed: quota']);
});

it('an action is named with its bots, of many the first', () => {
  expect(said(actionLine('a', 'stop'))).toEqual(['a', 'stop requested']);
  const ids = Array.from({ length: 1890 }, (_, n) => `b${n}`);
  expect(said(actionsLine(ids, 'restart'))).toEqual([
    null,
    'restart requested for 1,890 bots: b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 and 1,880 more',
  ]);
});
