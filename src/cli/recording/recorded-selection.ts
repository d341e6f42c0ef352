// Selects the events of a recording as the service selects those of a stream.

import type { BotSnapshot, StreamEvent } from '../../client/index.js';
import { eventTest, NO_FIELDS, queriedLog } from '../../shared/query/line-query.js';
import type { Query } from '../../shared/query/term.js';
import { snapshotLine } from '../../shared/stream/frame-line.js';

/** @returns whether an event is selected; to be called with each, in order. Gaps always are. */
export function recordedSelection(query: Query): (event: StreamEvent) => boolean {
  const test = eventTest(query);
  const bots = new Map<string, BotSnapshot>();
  return (event) => {
    switch (event.event) {
      case 'gap':
        return true;
      case 'log': {
        const bot = bots.get(event.data.session_id ?? '');
        return test(queriedLog(event.data, bot?.node), bot);
      }
      case 'session': {
        const { snapshot } = event.data;
        const line = snapshotLine(snapshot);
        const before = bots.get(snapshot.id);
        if (snapshot.status === 'deleted') bots.delete(snapshot.id);
        else bots.set(snapshot.id, snapshot);
        // The snapshot with which a bot stops matching is selected too: it shows why nothing follows.
        return test(line, snapshot) || (before !== undefined && test(line, before));
      }
      case 'alert':
      case 'operation': {
        const line = { ...NO_FIELDS, event: event.event, text: JSON.stringify(event.data) };
        return test(line, undefined);
      }
      case 'activity': {
        const { actor, activity, session_id: bot } = event.data;
        const text = JSON.stringify(event.data);
        const line = { ...NO_FIELDS, event: event.event, bot, actor, activity, text };
        return test(line, bots.get(bot ?? ''));
      }
      case 'other':
        return query.length === 0;
    }
  };
}
