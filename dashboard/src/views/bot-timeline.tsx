// Owns which statuses a bot has had, as far back as the journal knows, and how that is drawn.

import type { BotSnapshot } from '../../../src/client/index.js';
import { changes } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { age, clockTime, day, fullTime, second, serverNow, span } from '../model/time.js';
import { Status, toneOf } from '../parts/status.js';
import { type Change, type Stay, staysOf } from './stays.js';

/** Statuses that are listed below the bar. */
const LISTED = 30;
/** The bar shows at most this many: more are slivers. It is also how far back the journal is read. */
const DRAWN = 120;
/** Pages of the journal that are read for them, of 1,000 events each: a bot whose data changes often has few statuses in many. */
const MAX_PAGES = 10;

export function BotTimeline({ bot }: { bot: BotSnapshot }) {
  void second.value;
  const past = useResource((signal) => pastChanges(bot.id, signal), [bot.id]);
  const now = { status: bot.status, at: bot.since_ms };
  const stays = staysOf([...(past.value ?? []), ...(changes.get(bot.id) ?? []), now]);
  return (
    <section class="card" aria-label="Statuses">
      <h2>Statuses</h2>
      <Bar stays={stays.slice(-DRAWN)} />
      <ol class="stays">
        {stays
          .slice(-LISTED)
          .reverse()
          .map(({ status, from, to }) => (
            <li key={`${from} ${status}`}>
              <time title={fullTime(from)}>{shortTime(from)}</time>
              <Status status={status} />
              <span class="muted">{to === undefined ? `for ${age(from)}` : span(to - from)}</span>
            </li>
          ))}
      </ol>
    </section>
  );
}

function Bar({ stays }: { stays: readonly Stay[] }) {
  const begin = stays[0]?.from ?? 0;
  const length = Math.max(1, serverNow() - begin);
  return (
    <>
      <div class="timeline" aria-hidden="true">
        {stays.map(({ status, from, to }) => (
          <span
            key={from}
            class={`stay tone-${toneOf(status)}`}
            style={{ flexGrow: Math.max(0.002, ((to ?? serverNow()) - from) / length) }}
            title={`${status}, ${fullTime(from)}, ${span((to ?? serverNow()) - from)}`}
          />
        ))}
      </div>
      <div class="timeline-ends muted" aria-hidden="true">
        <span>{shortTime(begin)}</span>
        <span>now</span>
      </div>
    </>
  );
}

/** `13:07:21`, and of another day than today `11-20 13:07`. */
function shortTime(at: number): string {
  const on = day(at);
  const time = clockTime(at);
  return on === day(serverNow()) ? time.slice(0, 8) : `${on.slice(5)} ${time.slice(0, 5)}`;
}

/** From the journal, newest first. @throws ApiError 503 without a journal. */
async function pastChanges(id: string, signal: AbortSignal): Promise<Change[]> {
  const found: Change[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await api().events({
      kind: ['session'],
      session: [id],
      order: 'newest',
      limit: 1000,
      cursor,
      signal,
    });
    for (const event of page.events) {
      if (event.event !== 'session') continue;
      const { status, since_ms: at } = event.data.snapshot;
      const last = found.at(-1);
      if (last?.status !== status || last.at !== at) found.push({ status, at });
    }
    if (page.cursor === null || found.length > DRAWN) break;
    cursor = page.cursor;
  }
  return found;
}
