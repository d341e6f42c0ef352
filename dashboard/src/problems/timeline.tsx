import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefIn } from '../model/route.js';
import { fullTime } from '../model/time.js';
import { hrefAt } from '../model/time-range.js';
import { useMore } from '../parts/more.js';
import { momentText, secondText } from '../range/range-text.js';
import { type PlainKey, t } from '../texts/text.js';
import { MAX_LINES } from './beside-search.js';
import { type Happening, happeningText, type Lane } from './happenings.js';
import type { Beside, LoadedGroups } from './use-problems.js';

const LANES: { lane: Lane; title: PlainKey; one: PlainKey }[] = [
  { lane: 'incident', title: 'page.incidents', one: 'timeline.incident' },
  { lane: 'loss', title: 'timeline.hostsLost', one: 'timeline.hostLost' },
  { lane: 'deployment', title: 'timeline.starts', one: 'timeline.start' },
  { lane: 'change', title: 'timeline.changes', one: 'timeline.change' },
  { lane: 'request', title: 'timeline.requests', one: 'timeline.request' },
  { lane: 'command', title: 'term.commands', one: 'term.command' },
];
/** Rows of the list at once. */
const ROWS = 20;
const TICKS = 4;
const MINUTE_MS = 60_000;
/** A shorter range has ticks with seconds. */
const SHORT_MS = 20 * MINUTE_MS;

interface Props {
  beside: Beside;
  /** How often the incidents happened in each step of what was loaded. */
  counts: readonly number[];
  loaded: LoadedGroups;
}

/** What happened when, on one axis and as a list. */
export function Timeline({ beside, counts, loaded }: Props) {
  const { happenings } = beside;
  const { shown, more } = useMore(happenings, ROWS);
  return (
    <section class="card beside" aria-labelledby="timeline-title">
      <h2 id="timeline-title">{t('timeline.title')}</h2>
      <Lanes happenings={happenings} counts={counts} loaded={loaded} />
      <p class="muted" role="status">
        {stateText(beside)}
      </p>
      {happenings.length === 0 ? null : (
        <div class="happenings">
          <ol aria-label={t('timeline.list')}>
            {shown.map((one, at) => (
              <li key={at} class={`lane-${one.lane}`}>
                <a
                  class="happening-time"
                  href={hrefAt('log', one.at)}
                  title={t('timeline.openLog', { time: fullTime(one.at) })}
                >
                  {secondText(one.at)}
                </a>
                <span class="happening-lane">{laneText(one.lane)}</span>
                <span class="happening-text">
                  {one.cause === undefined ? (
                    visible(happeningText(one))
                  ) : (
                    <a href={hrefIn('problems', one.cause)}>{visible(happeningText(one))}</a>
                  )}
                </span>
              </li>
            ))}
          </ol>
          {more}
        </div>
      )}
    </section>
  );
}

/** What is unknown about the rest. It says that nothing happened only if that is certain. */
function stateText({ value, error, isLoading, happenings }: Beside): string {
  if (error) return t('timeline.notSearched', { reason: error.message });
  if (!value || (isLoading && !value.isWhole && !value.isCut)) return t('timeline.searching');
  const { isCut, missing } = value;
  if (missing.length > 0) return t('timeline.noAnswer', { nodes: missing.join(', ') });
  if (isCut) return t('timeline.onlyLast', { n: MAX_LINES });
  return happenings.length === 0 ? t('timeline.nothing') : '';
}

function laneText(lane: Lane): string {
  const found = LANES.find((known) => known.lane === lane);
  return found ? t(found.one) : lane;
}

/** A picture of the list below, which has the same in words. */
function Lanes({
  happenings,
  counts,
  loaded,
}: { happenings: readonly Happening[] } & Omit<Props, 'beside'>) {
  const { range, from_ms: from, step_ms: step } = loaded;
  const { after, before } = range;
  const percentAt = (at: number): number =>
    Math.min(100, Math.max(0, ((at - after) / (before - after)) * 100));
  const most = Math.max(1, ...counts);
  const tick = (ms: number): string =>
    before - after < SHORT_MS
      ? secondText(Math.round(ms / 1000) * 1000)
      : momentText(Math.round(ms / MINUTE_MS) * MINUTE_MS);
  return (
    <div class="lanes" aria-hidden="true">
      {LANES.map(({ lane, title }) => (
        <div key={lane} class={`lane lane-${lane}`}>
          <span class="lane-title">{t(title)}</span>
          <span class="lane-track">
            {lane === 'incident'
              ? counts.map((count, at) =>
                  count === 0 ? null : (
                    <i
                      key={at}
                      class="lane-bar"
                      style={{
                        left: `${percentAt(from + at * step)}%`,
                        width: `${percentAt(from + (at + 1) * step) - percentAt(from + at * step)}%`,
                        height: `${Math.max(12, (count / most) * 100)}%`,
                      }}
                    />
                  ),
                )
              : happenings
                  .filter((one) => one.lane === lane)
                  .map((one, at) => (
                    <i
                      key={at}
                      class="lane-mark"
                      title={`${secondText(one.at)} ${visible(happeningText(one))}`}
                      style={{ left: `${percentAt(one.at)}%` }}
                    />
                  ))}
          </span>
        </div>
      ))}
      <div class="lane lane-axis">
        <span class="lane-title" />
        <span class="lane-track">
          {Array.from({ length: TICKS + 1 }, (_, at) => {
            const ms = after + ((before - after) / TICKS) * at;
            return (
              <span key={at} class="lane-tick" style={{ left: `${(at / TICKS) * 100}%` }}>
                {tick(ms)}
              </span>
            );
          })}
        </span>
      </div>
    </div>
  );
}
