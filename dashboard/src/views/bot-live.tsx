// Owns what a bot is now: its statuses over time, its data, its lines.

import { useMemo } from 'preact/hooks';
import type { BotSnapshot, Json, StreamEvent } from '../../../src/client/index.js';
import { changes, connection } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { age, clockTime, fullTime, second, serverNow, span } from '../model/time.js';
import { Labels } from '../parts/labels.js';
import { Status, toneOf } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { LogPane } from './log-pane.js';

/** Statuses that are listed below the bar. */
const LISTED = 30;
/** The bar shows at most this many: more are slivers. */
const DRAWN = 120;

interface Stay {
  status: string;
  from: number;
  /** Undefined: it still is. */
  to: number | undefined;
}

export function BotLive({ bot }: { bot: BotSnapshot }) {
  const bots = useMemo(() => [bot.id], [bot.id]);
  return (
    <div class="bot-live">
      <div class="bot-side">
        <Facts bot={bot} />
        <Timeline bot={bot} />
        <Data bot={bot} />
      </div>
      <div class="bot-lines">
        <LogPane bots={bots} />
      </div>
    </div>
  );
}

function Facts({ bot }: { bot: BotSnapshot }) {
  const { desired, since_ms, started_at_ms, restarts, host, last_error, labels } = bot;
  void second.value;
  return (
    <section class="card">
      <dl class="facts">
        <div>
          <dt>Status for</dt>
          <dd title={fullTime(since_ms)}>{age(since_ms)}</dd>
        </div>
        <div>
          <dt>This run</dt>
          <dd>
            {started_at_ms === null ? (
              'does not run'
            ) : (
              <span title={fullTime(started_at_ms)}>{age(started_at_ms)}</span>
            )}
          </dd>
        </div>
        <div>
          <dt>Wanted</dt>
          <dd>{desired}</dd>
        </div>
        <div>
          <dt>Restarts</dt>
          <dd>{restarts}</dd>
        </div>
        <div>
          <dt>Host</dt>
          <dd>{host ?? '–'}</dd>
        </div>
        {Object.keys(labels).length > 0 ? (
          <div>
            <dt>Labels</dt>
            <dd>
              <Labels labels={labels} />
            </dd>
          </div>
        ) : null}
      </dl>
      {last_error === null ? null : (
        <div class="last-error">
          <h3>Last error</h3>
          <TextBox name="Last error">
            <LineText text={last_error} isWhole />
          </TextBox>
        </div>
      )}
    </section>
  );
}

function Timeline({ bot }: { bot: BotSnapshot }) {
  void second.value;
  const past = useResource(
    (signal) => api().events({ kind: ['session'], session: [bot.id], limit: 1000, signal }),
    [bot.id, connection.value.state === 'open'],
  );
  const stays = staysOf(bot, past.value?.events ?? []);
  const drawn = stays.slice(-DRAWN);
  const begin = drawn[0]?.from ?? 0;
  const length = Math.max(1, serverNow() - begin);
  return (
    <section class="card" aria-label="Statuses">
      <h2>Statuses</h2>
      <div class="timeline" aria-hidden="true">
        {drawn.map(({ status, from, to }) => (
          <span
            key={from}
            class={`stay tone-${toneOf(status)}`}
            style={{ flexGrow: Math.max(0.002, ((to ?? serverNow()) - from) / length) }}
            title={`${status}, ${fullTime(from)}, ${span((to ?? serverNow()) - from)}`}
          />
        ))}
      </div>
      <ol class="stays">
        {stays
          .slice(-LISTED)
          .reverse()
          .map(({ status, from, to }) => (
            <li key={`${from} ${status}`}>
              <time title={fullTime(from)}>{clockTime(from).slice(0, 8)}</time>
              <Status status={status} />
              <span class="muted">{to === undefined ? `for ${age(from)}` : span(to - from)}</span>
            </li>
          ))}
      </ol>
    </section>
  );
}

/** From the past, what the hub has seen, and what the bot is now; each status once. */
function staysOf(bot: BotSnapshot, past: readonly StreamEvent[]): Stay[] {
  const found = new Map<string, { status: string; at: number }>();
  const add = (status: string, at: number): void => {
    found.set(`${at} ${status}`, { status, at });
  };
  for (const event of past) {
    if (event.event === 'session') add(event.data.snapshot.status, event.data.snapshot.since_ms);
  }
  for (const { status, at } of changes.get(bot.id) ?? []) add(status, at);
  add(bot.status, bot.since_ms);
  const sorted = [...found.values()].sort((a, b) => a.at - b.at);
  return sorted.map(({ status, at }, index) => ({ status, from: at, to: sorted[index + 1]?.at }));
}

function Data({ bot }: { bot: BotSnapshot }) {
  const entries = Object.entries(bot.data);
  return (
    <section class="card" aria-label="Data">
      <h2>Data</h2>
      {entries.length === 0 ? (
        <p class="muted">The bot tells nothing of itself.</p>
      ) : (
        <dl class="data">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd data-field={name}>
                <Value value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function Value({ value }: { value: Json }) {
  if (typeof value === 'string') return <LineText text={value} />;
  if (typeof value === 'object' && value !== null) {
    return <pre>{JSON.stringify(value, null, 2)}</pre>;
  }
  return <>{String(value)}</>;
}
