import type { HostInfo } from '../../../src/client/index.js';
import { hostKey } from '../herd/grouping.js';
import { groupBy, herdView } from '../herd/view.js';
import { hostsAnswer, useHosts } from '../model/hosts.js';
import { bots } from '../model/live.js';
import { shownMoment } from '../model/time-range.js';
import { useOneStop } from '../parts/one-stop.js';
import { short } from '../parts/short.js';
import { sizeText } from '../parts/size.js';
import { SHAPES, type Tone } from '../parts/tone.js';
import { Unanswered } from '../parts/unanswered.js';
import { numberText, t } from '../texts/text.js';

/** Rows that are shown: each dedicated bot has a host. Those with trouble come first. */
const MAX_ROWS = 24;
/** A greater delay of the loop is highlighted, in ms. */
const LATE_MS = 250;
/** A heartbeat within this time, in ms, is "just now": the service checks ten times a second. */
const JUST_NOW_MS = 250;
const HIGH = 0.8;

type State = HostInfo['state'];
const TONES: Record<State, Tone> = {
  hangs: 'bad',
  retiring: 'wait',
  ending: 'wait',
  starting: 'busy',
  working: 'good',
  idle: 'good',
};
const RANK: Record<State, number> = {
  hangs: 0,
  retiring: 1,
  ending: 1,
  starting: 2,
  working: 3,
  idle: 3,
};

/** The bot hosts: whether each beats, and what it uses. */
export function Hosts() {
  useHosts();
  const oneStop = useOneStop<HTMLTableElement>('grid');
  const answer = hostsAnswer.value;
  const { hosts: all, missing } = answer.value ?? { hosts: [], missing: [] };
  const sorted = [...all].sort((a, b) => RANK[a.state] - RANK[b.state]);
  const shown = sorted.slice(0, MAX_ROWS);
  const isCluster = shown.some(({ node }) => node !== null);
  const hanging = all.filter(({ state }) => state === 'hangs');
  return (
    <section class={hanging.length > 0 ? 'card hosts-card is-bad' : 'card hosts-card'}>
      <header class="card-head">
        <h2>{shownMoment.value === undefined ? t('hosts.title') : t('hosts.titleNow')}</h2>
        {herdView.value.by === 'host' || bots.size === 0 ? null : (
          <button type="button" class="quiet as-link" onClick={() => groupBy('host')}>
            {t('hosts.group')}
          </button>
        )}
      </header>
      <p class="unseen" role="status">
        {hanging
          .map(nameOf)
          .map((name) => t('hosts.hangs', { host: name }))
          .join(' ')}
      </p>
      <Unanswered of={answer} />
      {/* One service starts with at least one host. */}
      {all.length === 0 ? null : (
        <table class="hosts" aria-label={t('hosts.title')} {...oneStop}>
          <thead>
            <tr>
              <th scope="col">{t('term.host')}</th>
              <th scope="col">{t('term.state')}</th>
              <th scope="col">{t('hosts.heartbeat')}</th>
              <th scope="col">{t('term.cpu')}</th>
              <th scope="col">{t('hosts.heap')}</th>
              <th scope="col">{t('term.bots')}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((host, at) => (
              <Row
                // A host that is ending can have the number of its successor.
                key={`${hostKey(host.node, host.host)} ${at}`}
                host={host}
                isCluster={isCluster}
              />
            ))}
          </tbody>
        </table>
      )}
      {all.length > shown.length ? (
        <p class="muted hosts-more">{t('count.more', { n: all.length - shown.length })}</p>
      ) : null}
      {missing.length > 0 ? (
        <p class="hosts-more" role="alert">
          {t('hosts.missing', { nodes: missing.join(', ') })}
        </p>
      ) : null}
    </section>
  );
}

function Row({ host, isCluster }: { host: HostInfo; isCluster: boolean }) {
  const { host: number, node, state, silent_ms, delay_ms, cpu, heap, isolation } = host;
  const tone = TONES[state];
  return (
    <tr class={`tone-${tone}${tone === 'bad' ? ' is-bad' : ''}`} data-host={hostKey(node, number)}>
      <th scope="row">
        {isCluster ? `${node ?? ''} ` : ''}
        {number}
        {isolation === 'process' ? <span class="muted"> {t('placement.process')}</span> : null}
      </th>
      <td>
        <span class={`status tone-${tone}`} data-state={state}>
          <svg class="shape" viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
            <path d={SHAPES[tone]} />
          </svg>
          <span class="status-name">{state}</span>
        </span>
      </td>
      <td>
        {silent_ms === null ? (
          <span class="muted">{state === 'idle' ? t('hosts.asleep') : '–'}</span>
        ) : (
          <span class={state === 'hangs' ? 'host-silent' : ''}>
            {silent_ms <= JUST_NOW_MS
              ? t('hosts.justNow')
              : t('time.ago', { time: ago(silent_ms) })}
          </span>
        )}
        {delay_ms >= LATE_MS && state !== 'hangs' ? (
          <span class="host-late" title={t('hosts.lateHint')}>
            {' '}
            {t('hosts.late', { time: ago(delay_ms) })}
          </span>
        ) : null}
      </td>
      <td>
        <Share
          name={t('hosts.cpuOf', { host: String(number) })}
          share={cpu}
          text={cpu === null ? '–' : `${Math.round(cpu * 100)} %`}
        />
      </td>
      <td>
        <Share
          name={t('hosts.heapOf', { host: String(number) })}
          share={heap && heap.limit_bytes > 0 ? heap.used_bytes / heap.limit_bytes : null}
          text={heap === null ? '–' : sizeText(heap.used_bytes)}
        />
      </td>
      <td class="host-bots">{numberText(host.bots)}</td>
    </tr>
  );
}

function Share({ name, share, text }: { name: string; share: number | null; text: string }) {
  return (
    <span class="host-share">
      <meter aria-label={name} min={0} max={1} high={HIGH} value={Math.min(1, share ?? 0)}>
        {text}
      </meter>
      <span class="host-figure">{text}</span>
    </span>
  );
}

function nameOf({ host, node }: HostInfo): string {
  return node === null
    ? t('hosts.name', { host: String(host) })
    : t('hosts.nameOf', { host: String(host), node });
}

function ago(ms: number): string {
  return ms < 1000 ? t('time.ms', { n: Math.round(ms / 10) * 10 }) : `${short(ms / 1000)} s`;
}
