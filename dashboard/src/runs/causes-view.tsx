// The failures and error lines of a run, by cause.

import { useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { t } from '../texts/text.js';
import { showInRun } from './run-address.js';
import type { RunCause } from './run-facts.js';
import { sinceText } from './run-time.js';

/** Causes that are drawn before somebody asks for all, and bots that are named. */
const FIRST = 100;
const MAX_NAMED = 8;

export function CausesView({ causes }: { causes: readonly RunCause[] }) {
  const [isAll, setAll] = useState(false);
  if (causes.length === 0) {
    return <p class="empty muted">{t('runs.noCauses')}</p>;
  }
  const shown = isAll ? causes : causes.slice(0, FIRST);
  return (
    <section class="run-part" aria-label={t('page.incidents')}>
      <ul class="run-causes">
        {shown.map((cause) => (
          <Cause key={`${cause.type} ${cause.cause}`} cause={cause} />
        ))}
      </ul>
      {shown.length < causes.length ? (
        <button type="button" onClick={() => setAll(true)}>
          {t('runs.showAll', { n: causes.length })}
        </button>
      ) : null}
    </section>
  );
}

function Cause({ cause }: { cause: RunCause }) {
  const { type, title, message, count, bots, firstMs, lastMs } = cause;
  const about = {
    type: t(type === 'failure' ? 'runs.failure' : 'runs.line'),
    times: t('runs.times', { n: count }),
  };
  return (
    <li class="card run-cause">
      <h2>{visible(title)}</h2>
      <p class="muted">
        {bots.length === 0
          ? t('runs.cause', about)
          : t('runs.causeOf', { ...about, bots: namesText(bots) })}
      </p>
      {message === title ? null : (
        <details>
          <summary>{t('runs.firstMessage')}</summary>
          <pre>
            <LineText text={message} isWhole />
          </pre>
        </details>
      )}
      <p class="run-cause-times">
        <Moment ms={firstMs} title={t('incidents.first')} />
        {count > 1 ? <Moment ms={lastMs} title={t('runs.last')} /> : null}
      </p>
    </li>
  );
}

function namesText(bots: readonly string[]): string {
  const named = bots.slice(0, MAX_NAMED).map(visible).join(', ');
  const n = bots.length - MAX_NAMED;
  return n > 0 ? t('runs.namedMore', { bots: named, n }) : named;
}

/** Leads to the log at that time. */
export function Moment({ ms, title }: { ms: number; title?: string }) {
  return (
    <button
      type="button"
      class="quiet run-moment"
      title={t('incidents.openLog')}
      onClick={() =>
        showInRun({ part: 'log', query: '', afterMs: undefined, beforeMs: undefined, atMs: ms })
      }
    >
      {title === undefined ? null : <span class="muted">{title}</span>} {sinceText(ms)}
      <Icon name="right" />
    </button>
  );
}
