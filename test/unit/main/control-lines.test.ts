// The lines about what requests do to bots.

import { expect, it } from 'vitest';
import { actionLine, actionsLine } from '../../../src/main/bots/control-lines.js';
import type { Item } from '../../../src/shared/contract/events.js';

function said(item: Item | null): [string | null, string] | null {
  if (item?.kind !== 'log') return null;
  expect([item.scope, item.level]).toEqual(['drover.control', 'info']);
  return [item.session_id, JSON.parse(item.message_json)];
}

it('an action is named with its bots, of many the first', () => {
  expect(said(actionLine('a', 'stop'))).toEqual(['a', 'stop requested']);
  const ids = Array.from({ length: 1890 }, (_, n) => `b${n}`);
  expect(said(actionsLine(ids, 'restart'))).toEqual([
    null,
    'restart requested for 1,890 bots: b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 and 1,880 more',
  ]);
});
