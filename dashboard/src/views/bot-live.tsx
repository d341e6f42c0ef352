import type { BotSnapshot, BotUsage } from '../../../src/client/index.js';
import { Console } from '../console/console.js';
import { BotData } from '../data/bot-data.js';
import { useLogAddress } from '../model/log-address.js';
import { hrefTo } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { useWidth } from '../model/width.js';
import { Labels } from '../parts/labels.js';
import { megabytesText, sizeText } from '../parts/size.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { currentError } from '../parts/tone.js';
import { botsWith } from '../query/address-query.js';
import { fixedText, numberText, t } from '../texts/text.js';
import { BotTimeline } from './bot-timeline.js';
import { LogPane } from './log-pane.js';

/** Up to this width, in px, everything is in one column: style/views.css. */
const NARROW_PX = 900;

export function BotLive({ bot }: { bot: BotSnapshot }) {
  const address = useLogAddress(bot.id);
  const isNarrow = useWidth() <= NARROW_PX;
  const details = (
    <>
      <BotData key={bot.id} bot={bot} />
      <Usage bot={bot} />
      <BotTimeline bot={bot} />
    </>
  );
  return (
    <div class="bot-live">
      <div class="bot-side">
        <Facts bot={bot} />
        {isNarrow ? null : details}
      </div>
      <div class="bot-lines">
        <LogPane {...address} isOfOne at={timeRange.value.momentMs} />
        <Console bot={bot} />
      </div>
      {/* Hundreds of fields would push the log out of sight. */}
      {isNarrow ? <div class="bot-below">{details}</div> : null}
    </div>
  );
}

function Facts({ bot }: { bot: BotSnapshot }) {
  const { desired, since_ms, started_at_ms, restarts, host, last_error, labels, fleet } = bot;
  void second.value;
  const isOver = currentError(bot.status, last_error) === null;
  return (
    <section class="card">
      <dl class="facts">
        <div>
          <dt>{t('bot.statusFor')}</dt>
          <dd title={fullTime(since_ms)}>{age(since_ms)}</dd>
        </div>
        <div>
          <dt>{t('bot.runningFor')}</dt>
          <dd>
            {started_at_ms === null ? (
              t('bot.notRunning')
            ) : (
              <span title={fullTime(started_at_ms)}>{age(started_at_ms)}</span>
            )}
          </dd>
        </div>
        <div>
          <dt>{t('bot.desired')}</dt>
          <dd>{desired}</dd>
        </div>
        <div>
          <dt>{t('term.restarts')}</dt>
          <dd>{restarts}</dd>
        </div>
        <div>
          <dt>{t('term.host')}</dt>
          <dd>{host ?? '–'}</dd>
        </div>
        {fleet === undefined ? null : (
          <div>
            <dt>{t('bot.fleet')}</dt>
            <dd>{bot.drift ? t('bot.drifted', { fleet }) : fleet}</dd>
          </div>
        )}
        {Object.keys(labels).length > 0 ? (
          <div class="fact-wide">
            <dt>{t('term.labels')}</dt>
            <dd>
              <Labels labels={labels} href={(label) => botsWith('label', label)} />
            </dd>
          </div>
        ) : null}
      </dl>
      {last_error === null ? null : (
        <div class={isOver ? 'last-error is-over' : 'last-error'}>
          <h2>
            {t(isOver ? 'bot.errorBefore' : 'term.lastError')}{' '}
            <a href={hrefTo('bots', bot.id, { tab: 'incidents' })}>{t('page.incidents')}</a>
          </h2>
          <TextBox name={t('term.lastError')}>
            <LineText text={last_error} isWhole />
          </TextBox>
        </div>
      )}
    </section>
  );
}

/** Averages of the last window. A bot without usage has no more to show. */
function Usage({ bot: { usage, over_quota: over } }: { bot: BotSnapshot }) {
  if (!usage) return null;
  const rows: [title: string, name: keyof BotUsage, value: string][] = [
    [t('term.cpu'), 'cpu', `${fixedText(usage.cpu * 100, 1)} %`],
    [
      t('term.memory'),
      'memory_mb',
      usage.memory_mb === null ? t('usage.shared') : megabytesText(usage.memory_mb),
    ],
    [t('usage.lines'), 'lines_per_second', numberText(usage.lines_per_second)],
    [t('usage.traffic'), 'bytes_per_second', sizeText(usage.bytes_per_second)],
    [t('usage.connections'), 'connections', numberText(usage.connections)],
  ];
  return (
    <section class="card" aria-label={t('usage.title')}>
      <h2>{t('usage.title')}</h2>
      <dl class="facts">
        {rows.map(([title, name, value]) => (
          <div key={name}>
            <dt>{title}</dt>
            <dd data-usage={name}>
              {value}
              {over.includes(name) ? <strong> {t('usage.over')}</strong> : null}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
