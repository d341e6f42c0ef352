import { useMemo, useState } from 'preact/hooks';
import { cluster } from '../model/cluster.js';
import { recorded } from '../model/event-source.js';
import { useHosts } from '../model/hosts.js';
import { isLoaded, loaded } from '../model/live.js';
import { mayCreate } from '../model/own-token.js';
import { hrefIn, hrefTo } from '../model/route.js';
import { useThrottled } from '../model/throttle.js';
import { shownMoment } from '../model/time-range.js';
import { lazyView } from '../parts/lazy-view.js';
import { Unanswered } from '../parts/unanswered.js';
import { numberText, rich, t } from '../texts/text.js';
import { SelectionBar } from '../views/selection-bar.js';
import { HerdCanvas } from './canvas.js';
import { shownStatus } from './cells.js';
import { type Grouping, labelNames } from './grouping.js';
import { Legend } from './legend.js';
import { herdBots, herdHeld, herdVersion, past, pastError, usePast } from './past.js';
import { groupBy, herdView } from './view.js';

const MomentNotes = lazyView(async () => (await import('./moment-notes.js')).MomentNotes);

const REDRAW_MS = 500;
/** Labels change rarely, and collecting them visits every bot. */
const LABELS_MS = 3000;

/** All bots at once: a cell each. */
export function Herd() {
  useHosts();
  usePast();
  useThrottled(herdVersion, REDRAW_MS);
  // A recording has nothing to act on.
  const isOver = recorded.value !== undefined;
  const moment = shownMoment.value;
  const isPast = moment !== undefined;
  const shown = herdBots();
  const isKnown = isPast
    ? past.value !== undefined && (shown.size > 0 || isReached())
    : isLoaded.value;
  const [isSelecting, setSelecting] = useState(false);
  return (
    <section class="card herd" aria-label={t('herd.title')}>
      <header class="card-head">
        <a class="herd-total" href={hrefIn('bots')}>
          <strong data-count="all">{isKnown ? numberText(shown.size) : '–'}</strong>{' '}
          {t('herd.total', { n: shown.size })}
        </a>
        {shown.size === 0 ? null : (
          <div class="herd-tools">
            <GroupBy />
            {isOver ? null : (
              <button
                type="button"
                class="herd-select"
                aria-pressed={isSelecting}
                title={t('herd.selectHint')}
                onClick={() => setSelecting(!isSelecting)}
              >
                {t('herd.select')}
              </button>
            )}
          </div>
        )}
      </header>
      {moment === undefined ? null : <MomentNotes shown={moment} />}
      {shown.size === 0 ? (
        isPast ? (
          <NoPast />
        ) : (
          <Empty />
        )
      ) : (
        <>
          <Legend />
          <HerdCanvas isSelecting={isSelecting} />
          {isOver ? null : <Selected />}
        </>
      )}
    </section>
  );
}

function GroupBy() {
  const version = useThrottled(herdVersion, LABELS_MS);
  const { by } = herdView.value;
  const names = useMemo(() => labelNames(herdBots().values()), [version]);
  const options: [Grouping, string][] = [
    ['kind', t('term.kind')],
    ['host', t('term.host')],
    ...(cluster.value === null ? [] : [['node', t('term.node')] as [Grouping, string]]),
    ...names.map((name): [Grouping, string] => [`label:${name}`, t('herd.label', { label: name })]),
    ['none', t('herd.nothing')],
  ];
  // From the address; no bot has it at present.
  if (!options.some(([value]) => value === by))
    options.push([by, t('herd.label', { label: by.replace(/^label:/, '') })]);
  return (
    <label class="herd-by">
      <span class="muted">{t('herd.groupBy')}</span>
      <select value={by} onChange={({ currentTarget }) => groupBy(currentTarget.value as Grouping)}>
        {options.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The selection is that of the table of bots. */
function Selected() {
  const { lit } = herdView.value;
  const held = herdHeld.value;
  const hiddenOf = (present: readonly string[]): number => {
    if (lit.size === 0) return 0;
    return present.filter((id) => {
      const bot = herdBots().get(id);
      return bot && !lit.has(shownStatus(bot, held));
    }).length;
  };
  return (
    <SelectionBar hiddenOf={hiddenOf} list=".herd-cells">
      {() => (
        <a class="herd-to-bots" href={hrefTo('bots')}>
          {t('herd.showInBots')}
        </a>
      )}
    </SelectionBar>
  );
}

/** Whether the journal reaches back to the moment that is shown. */
function isReached(): boolean {
  const knownFrom = past.value?.known_from_ms ?? Number.POSITIVE_INFINITY;
  return (shownMoment.value ?? 0) >= knownFrom;
}

function NoPast() {
  const { value: shown } = past;
  const text =
    pastError.value !== undefined
      ? t('herd.noStates', { reason: pastError.value.message })
      : shown === undefined
        ? t('state.loading')
        : isReached()
          ? t('herd.noneThen')
          : t('herd.notReached');
  return <p class="herd-none muted">{text}</p>;
}

function Empty() {
  if (!isLoaded.value) {
    return (
      <div class="herd-none">
        <Unanswered of={loaded.value} />
      </div>
    );
  }
  return (
    <div class="herd-none">
      <p>{t('bots.none')}</p>
      {mayCreate() ? (
        <p class="muted">
          {rich('herd.createFirst', { bots: <a href={hrefTo('bots')}>{t('term.bots')}</a> })}
        </p>
      ) : null}
    </div>
  );
}
