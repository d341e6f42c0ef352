import type { HostInfo } from '../../../src/client/index.js';
import { hostKey } from '../herd/grouping.js';
import { groupBy, herdView } from '../herd/view.js';
import { hosts, useHosts } from '../model/hosts.js';
import { bots } from '../model/live.js';
import { shownMoment } from '../model/time-range.js';
import { short } from '../parts/short.js';
import { sizeText } from '../parts/size.js';
import { SHAPES, type Tone } from '../parts/tone.js';

/** Rows that are shown: each dedicated bot has a host. Those with trouble come first. */
const MAX_ROWS = 24;
/** A loop that is later than this is worth a look, in ms. */
const LATE_MS = 250;
/** One that has beaten within this time, in ms, has just beaten: the service looks ten times a second. */
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
  const list = hosts.value;
  // One service starts with at least one.
  if (!list) return null;
  const sorted = [...list.hosts].sort((a, b) => RANK[a.state] - RANK[b.state]);
  const shown = sorted.slice(0, MAX_ROWS);
  const isCluster = shown.some(({ node }) => node !== null);
  const hanging = list.hosts.filter(({ state }) => state === 'hangs');
  return (
    <section class={hanging.length > 0 ? 'card hosts-card is-bad' : 'card hosts-card'}>
      <header class="card-head">
        <h2>{shownMoment.value === undefined ? 'Hosts' : 'Hosts now'}</h2>
        {herdView.value.by === 'host' || bots.size === 0 ? null : (
          <button type="button" class="quiet as-link" onClick={() => groupBy('host')}>
            Group the herd by host
          </button>
        )}
      </header>
      <p class="unseen" role="status">
        {hanging
          .map(nameOf)
          .map((name) => `${name} hangs.`)
          .join(' ')}
      </p>
      <table class="hosts">
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col">State</th>
            <th scope="col">Heartbeat</th>
            <th scope="col">CPU</th>
            <th scope="col">Heap</th>
            <th scope="col">Bots</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((host, at) => (
            <Row
              // One that ends can have the number of its successor.
              key={`${hostKey(host.node, host.host)} ${at}`}
              host={host}
              isCluster={isCluster}
            />
          ))}
        </tbody>
      </table>
      {list.hosts.length > shown.length ? (
        <p class="muted hosts-more">
          and {(list.hosts.length - shown.length).toLocaleString('en')} more
        </p>
      ) : null}
      {list.missing.length > 0 ? (
        <p class="hosts-more" role="alert">
          No answer from {list.missing.join(', ')}: its hosts are not shown.
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
        {isolation === 'process' ? <span class="muted"> process</span> : null}
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
          <span class="muted">{state === 'idle' ? 'asleep' : '–'}</span>
        ) : (
          <span class={state === 'hangs' ? 'host-silent' : ''}>
            {silent_ms <= JUST_NOW_MS ? 'just now' : `${ago(silent_ms)} ago`}
          </span>
        )}
        {delay_ms >= LATE_MS && state !== 'hangs' ? (
          <span
            class="host-late"
            title="How late its loop was at worst in its last 10 to 20 s of work"
          >
            {' '}
            {ago(delay_ms)} late
          </span>
        ) : null}
      </td>
      <td>
        <Share
          name={`CPU of host ${number}`}
          share={cpu}
          text={cpu === null ? '–' : `${Math.round(cpu * 100)} %`}
        />
      </td>
      <td>
        <Share
          name={`Heap of host ${number}`}
          share={heap && heap.limit_bytes > 0 ? heap.used_bytes / heap.limit_bytes : null}
          text={heap === null ? '–' : sizeText(heap.used_bytes)}
        />
      </td>
      <td class="host-bots">{host.bots.toLocaleString('en')}</td>
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
  return node === null ? `Host ${host}` : `Host ${host} of ${node}`;
}

function ago(ms: number): string {
  return ms < 1000 ? `${Math.round(ms / 10) * 10} ms` : `${short(ms / 1000)} s`;
}
