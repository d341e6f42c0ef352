import type { AlertEvent } from '../../../src/client/index.js';
import { firing } from '../model/alerts.js';
import { useResource } from '../model/resource.js';
import { hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { age, fullTime, second } from '../model/time.js';
import { presentBounds, timeRange } from '../model/time-range.js';
import { Unanswered } from '../parts/unanswered.js';
import { LIVE } from '../range/range.js';
import { t } from '../texts/text.js';
import { alertText } from './alert-text.js';

/** The newest that are shown. */
const MAX_SHOWN = 50;
/** The journal has an event this long after the stream, in ms. */
const AGAIN_MS = 10_000;

/** The past alerts of the range of the page, from the journal, newest first. */
export function AlertHistory() {
  void second.value;
  const answer = useResource(
    async (signal): Promise<{ id: string; alert: AlertEvent }[]> => {
      const { fromMs: after, toMs: before } = presentBounds();
      const { events } = await api().events({
        event: ['alert'],
        after,
        before,
        limit: MAX_SHOWN,
        signal,
      });
      return events.flatMap((event) =>
        event.event === 'alert' ? [{ id: event.id ?? '', alert: event.data }] : [],
      );
    },
    [timeRange.value],
    { when: [firing.value], everyMs: AGAIN_MS },
  );
  const { value } = answer;
  return (
    <section class="card" aria-labelledby="alert-history">
      <h2 id="alert-history">{t('problems.pastAlerts')}</h2>
      <Unanswered of={answer} />
      {value === undefined ? null : value.length === 0 ? (
        <p class="muted">{t(timeRange.value === LIVE ? 'alerts.noneFired' : 'problems.noPast')}</p>
      ) : (
        <ul class="alert-history">
          {value.map(({ id, alert }) => (
            <li key={id} data-alert={alert.state}>
              <span class={`tag tone-${alert.state === 'firing' ? 'bad' : 'good'}`}>
                {t(alert.state === 'firing' ? 'alerts.fires' : 'alerts.over')}
              </span>
              <a href={hrefTo('log', '', { from: '', to: '', t: '', at: id })}>
                {alertText(alert)}
              </a>
              <time class="muted" title={fullTime(alert.timestamp_ms)}>
                {t('time.ago', { time: age(alert.timestamp_ms) })}
              </time>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
