// The lines on the stream about what requests do to bots, which bots cannot write themselves: what an operator looks for when something breaks.

import type { BotAction } from '../../shared/contract/bots.js';
import type { Item } from '../../shared/contract/events.js';
import { CONTROL_SCOPE } from '../../shared/contract/scopes.js';
import { logItem } from '../threads/service-events.js';

/** Names in a line; the others are counted. */
const MAX_NAMES = 10;

/** A request for one bot. */
export function actionLine(id: string, action: BotAction): Item {
  return logItem('info', CONTROL_SCOPE, `${action} requested`, id);
}

/** One request for many bots. It names them, so it is about none of them: a token that is limited to some does not get it. */
export function actionsLine(ids: readonly string[], action: BotAction): Item {
  const count = ids.length.toLocaleString('en');
  return logItem('info', CONTROL_SCOPE, `${action} requested for ${count} bots: ${names(ids)}`);
}

function names(all: readonly string[]): string {
  const more = all.length - MAX_NAMES;
  const first = all.slice(0, MAX_NAMES).join(', ');
  return more > 0 ? `${first} and ${more.toLocaleString('en')} more` : first;
}
