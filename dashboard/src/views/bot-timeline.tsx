import type { BotSnapshot } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { changes } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { age, clockTime, day, fullTime, second, serverNow, shortDay, span } from '../model/time.js';
import { useMore } from '../parts/more.js';
import { Status } from '../parts/status.js';
import { toneOf } from '../parts/tone.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { type Change, type StatusPeriod, statusPeriods } from './status-periods.js';

/** Statuses in the list below the bar, at once. */
const LISTED = 10;
/** Statuses in the bar; more would be too narrow to see. Also how many are read from the journal. */
const DRAWN = 120;
/** Bound of the pages read for them, of 1,000 events each: most session events change data, not the status. */
const MAX_PAGES = 10;

export function BotTimeline({ bot }: { bot: BotSnapshot }) {
  void second.value;
  const history = useResource((signal) => statusHistory(bot.id, signal), [bot.id]);
  const now = { status: bot.status, at: bot.since_ms };
  const periods = statusPeriods(history.value ?? [], changes.get(bot.id) ?? [], [now]);
  const { shown, more } = useMore(periods.toReversed(), LISTED);
  return (
    <section class="card" aria-label={t('bot.history')}>
      <h2>{t('bot.history')}</h2>
      <Unanswered of={history} />
      <Bar periods={periods.slice(-DRAWN)} />
      <ol class="status-periods" aria-label={t('bot.earlier')}>
        {shown.map(({ status, from, to }, at) => (
          <li key={periods.length - at}>
            <time title={fullTime(from)}>{shortTime(from)}</time>
            <Status status={status} />
            <span class="muted">
              {to === undefined ? t('peek.for', { time: age(from) }) : span(to - from)}
            </span>
          </li>
        ))}
      </ol>
      {more}
    </section>
  );
}

function Bar({ periods }: { periods: readonly StatusPeriod[] }) {
  const begin = periods[0]?.from ?? 0;
  const length = Math.max(1, serverNow() - begin);
  return (
    <>
      <div class="timeline" aria-hidden="true">
        {periods.map(({ status, from, to }, at) => (
          <span
            key={at}
            class={`stay tone-${toneOf(status)}`}
            style={{ flexGrow: Math.max(0.002, ((to ?? serverNow()) - from) / length) }}
            title={`${visible(status)}, ${fullTime(from)}, ${span((to ?? serverNow()) - from)}`}
          />
        ))}
      </div>
      <div class="timeline-ends muted" aria-hidden="true">
        <span>{shortTime(begin)}</span>
        <span>{t('bot.now')}</span>
      </div>
    </>
  );
}

/** `13:07:21` today, else `11-20 13:07`. */
function shortTime(at: number): string {
  const on = day(at);
  const time = clockTime(at);
  return on === day(serverNow()) ? time.slice(0, 8) : `${shortDay(at)} ${time.slice(0, 5)}`;
}

/** From the journal, oldest first. @throws ApiError 503 without a journal. */
async function statusHistory(id: string, signal: AbortSignal): Promise<Change[]> {
  const found: Change[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await api().events({
      event: ['session'],
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
  return found.reverse();
}
