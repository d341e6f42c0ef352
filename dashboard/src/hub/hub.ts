// Runs in the shared worker, or in the leader tab (link.ts). Owns the browser's one stream and the tabs that read from it.

import {
  ApiError,
  DroverClient,
  type EventStream,
  type StreamEvent,
  type StreamState,
} from '../../../src/client/index.js';
import { AlarmCalls } from './alarm-calls.js';
import { HubAlerts } from './alerts.js';
import { type Cursor, HubState } from './hub-state.js';
import { StreamLag } from './lag.js';
import type { Connection, Handover, Port, ToHub, ToTab, Update } from './messages.js';
import { ServiceClock } from './service-clock.js';

/** A tab that has taken no update for this long, in ms, is frozen: its cursor is dropped. */
const FROZEN_MS = 60_000;
/** Interval of the pings to tabs, in ms, and how many a tab may leave unanswered before it is dropped. */
const PING_MS = 60_000;
const MAX_PINGS = 3;
/** Events are batched for this long, in ms, before tabs are updated: about 30 frames per second. */
const BATCH_MS = 33;

type TabPort = Port<ToTab, ToHub>;

interface Tab {
  port: TabPort;
  /** Whether it has drawn its last update. */
  isReady: boolean;
  /** When it last took an update, by performance.now(). */
  tookAt: number;
  /** Pings since its last message. A count and not a time, because the machine may have been suspended. */
  pings: number;
  /** Undefined if it is new or frozen: the next update is the full state. */
  cursor: Cursor | undefined;
  /** Whether the connection state or the clock has changed. */
  isStale: boolean;
  /** Whether it was dropped because it did not answer its pings. */
  isDropped: boolean;
}

export class Hub {
  readonly #url: string;
  readonly #tabs = new Set<Tab>();
  #token: string | null = null;
  /** Whether the service has accepted the token. Until then the tokens of other tabs are kept as candidates. */
  #isAccepted = false;
  readonly #otherTokens = new Set<string>();
  #stream: EventStream | undefined;
  #connection: Connection = { state: 'connecting' };
  readonly #clock = new ServiceClock(() => this.#markStale());
  readonly #lag = new StreamLag();
  #isComplete = false;
  readonly #state = new HubState((bot) => {
    for (const { cursor } of this.#tabs) cursor?.bots.add(bot);
  });
  #client: DroverClient | undefined;
  readonly #alarms = new AlarmCalls<Tab>(
    () => [...this.#tabs],
    ({ port }, alarm) => port.send({ type: 'alarm', alarm }),
  );
  readonly #alerts = new HubAlerts({
    load: async () => (await this.#client?.rules.list()) ?? [],
    changed: (rules) => {
      for (const { port } of this.#tabs) port.send({ type: 'firing', rules });
    },
    alarm: (alarm) => this.#alarms.raise(alarm),
  });
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #pinging: ReturnType<typeof setInterval>;
  #handover: Handover | undefined;

  /** @param url of the service. @param handover state of a previous hub, valid for its token only. */
  constructor(url: string, handover?: Handover) {
    this.#url = url;
    this.#handover = handover;
    this.#pinging = setInterval(() => this.#pingTabs(), PING_MS);
  }

  attach(port: TabPort): void {
    const tab: Tab = {
      port,
      isReady: false,
      tookAt: performance.now(),
      pings: 0,
      cursor: undefined,
      isStale: false,
      isDropped: false,
    };
    port.receive = (message) => this.#receive(tab, message);
  }

  /** Ends this hub because another one has taken over, which informs the tabs. */
  close(): void {
    this.#tabs.clear();
    this.#reset();
    clearTimeout(this.#timer);
    clearInterval(this.#pinging);
  }

  #receive(tab: Tab, message: ToHub): void {
    tab.pings = 0;
    // The tab was only frozen, not closed.
    if (tab.isDropped && message.type !== 'bye') this.#greet(tab, null, false);
    switch (message.type) {
      case 'hello':
        this.#greet(tab, message.token, message.isNew);
        break;
      case 'taken':
        tab.isReady = true;
        tab.tookAt = performance.now();
        this.#scheduleUpdates();
        break;
      case 'here':
        break;
      case 'told':
        this.#alarms.told(message.tag);
        break;
      case 'retry':
        this.#stream?.retryNow();
        break;
      case 'sign-out':
        this.#signOut(false);
        break;
      case 'bye':
        this.#tabs.delete(tab);
    }
  }

  #greet(tab: Tab, token: string | null, isNew: boolean): void {
    this.#tabs.add(tab);
    tab.isDropped = false;
    tab.cursor = undefined;
    tab.isReady = true;
    this.#scheduleUpdates();
    const isOther = token !== null && token !== this.#token;
    if (isOther && (isNew || this.#token === null)) {
      if (isNew) this.#otherTokens.clear();
      this.#signIn(token);
      return;
    }
    if (isOther && !this.#isAccepted) this.#otherTokens.add(token);
    tab.port.send({ type: 'session', token: this.#token, isEnded: false });
    tab.port.send({ type: 'firing', rules: this.#alerts.firing });
  }

  #signIn(token: string): void {
    this.#reset();
    this.#token = token;
    this.#otherTokens.delete(token);
    this.#sendSession(false);
    void this.#read(token, this.#takeHandover(token));
  }

  /** @returns the id of the event to resume after, null for none. */
  #takeHandover(token: string): string | null {
    const handover = this.#handover;
    this.#handover = undefined;
    if (handover?.token !== token) return null;
    // Resumes after the last line; session events after it are repeated, which is harmless.
    return this.#state.restore(handover);
  }

  #signOut(isEnded: boolean): void {
    this.#reset();
    this.#otherTokens.clear();
    this.#sendSession(isEnded);
  }

  #refuse(): void {
    const [other] = this.#otherTokens;
    if (other !== undefined) this.#signIn(other);
    else this.#signOut(true);
  }

  #sendSession(isEnded: boolean): void {
    for (const { port } of this.#tabs) port.send({ type: 'session', token: this.#token, isEnded });
  }

  #reset(): void {
    this.#stream?.close();
    this.#stream = undefined;
    this.#token = null;
    this.#isAccepted = false;
    this.#client = undefined;
    this.#alerts.clear();
    this.#alarms.clear();
    this.#state.clear();
    this.#lag.clear();
    this.#isComplete = false;
    this.#connection = { state: 'connecting' };
    for (const tab of this.#tabs) tab.cursor = undefined;
  }

  async #read(token: string, lastEventId: string | null): Promise<void> {
    const client = new DroverClient({
      url: this.#url,
      token,
      fetch: this.#clock.fetch,
    });
    this.#client = client;
    const stream = client.stream({
      lastEventId,
      // The first wait is what the service asks for, which spreads the dashboards of a restarted service.
      backoff: { maxMs: 10_000 },
      onState: (state) => {
        if (this.#stream === stream) this.#onStreamState(state);
      },
      onHeartbeat: () => {
        if (this.#stream === stream) this.#noteComplete(stream);
      },
    });
    this.#stream = stream;
    try {
      for await (const events of stream.batches()) {
        if (this.#stream !== stream) return;
        this.#apply(events, client);
        this.#noteComplete(stream);
      }
    } catch (thrown) {
      if (this.#stream !== stream) return;
      if (thrown instanceof ApiError && thrown.status === 401) return this.#refuse();
      this.#setConnection({ state: 'refused', reason: messageOf(thrown) });
    }
  }

  /**
   * The initial state is complete once the stream has a position: that comes with the last snapshot, or alone without
   * any.
   */
  #noteComplete({ lastEventId }: EventStream): void {
    if (this.#isComplete || lastEventId === null) return;
    this.#isComplete = true;
    this.#markStale();
  }

  #onStreamState(state: StreamState): void {
    switch (state.state) {
      case 'open':
        this.#isAccepted = true;
        this.#otherTokens.clear();
        this.#state.beginCounting();
        this.#setConnection({ state: 'open' });
        // Loads alerts from before this stream, and those of a restarted service.
        this.#alerts.refresh();
        break;
      case 'connecting':
        // During a reconnect the banner stays until the outcome is known.
        if (state.failures === 0) this.#setConnection({ state: 'connecting' });
        break;
      case 'waiting':
        this.#setConnection({
          state: 'waiting',
          retryAtMs: state.retryAtMs,
          reason: state.error.message,
        });
        break;
      case 'closed':
    }
  }

  #setConnection(connection: Connection): void {
    this.#connection = connection;
    this.#markStale();
  }

  #markStale(): void {
    for (const tab of this.#tabs) tab.isStale = true;
    this.#scheduleUpdates();
  }

  #apply(events: StreamEvent[], client: DroverClient): void {
    const state = this.#state;
    let newest: number | undefined;
    for (const event of events) {
      switch (event.event) {
        case 'log':
          state.addLine(event.id ?? '', event.data);
          newest = event.data.timestamp_ms;
          this.#alerts.saw(event.id ?? '', event.data);
          break;
        case 'session':
          state.applySnapshot(event.data.snapshot);
          // Initial snapshots (without ids) are not events.
          if (event.id !== null) state.countOther();
          break;
        case 'operation':
          state.applyOperation(event.data);
          state.countOther();
          break;
        case 'gap':
          state.addGap(event.id ?? '', event.data, Date.now() - this.#clock.aheadMs);
          void this.#dropDeleted(client);
          this.#alerts.refresh();
          break;
        default:
          state.countOther();
      }
    }
    const now = Date.now();
    if (newest !== undefined && this.#lag.note(now - this.#clock.aheadMs - newest, now)) {
      this.#markStale();
    }
    this.#scheduleUpdates();
  }

  /** A gap may have swallowed events of deleted bots. */
  async #dropDeleted(client: DroverClient): Promise<void> {
    const before = this.#state.botIds;
    try {
      const present = new Set((await client.bots.list()).map(({ id }) => id));
      for (const id of before) if (!present.has(id)) this.#state.drop(id);
      this.#scheduleUpdates();
    } catch {
      // Disconnected again: the next connection starts with another gap.
    }
  }

  /** Drops tabs that ended without `bye`, for example by a crash. */
  #pingTabs(): void {
    for (const tab of this.#tabs) {
      if (tab.pings < MAX_PINGS) {
        tab.pings += 1;
        tab.port.send({ type: 'ping' });
      } else {
        tab.isDropped = true;
        this.#tabs.delete(tab);
      }
    }
  }

  #scheduleUpdates(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#updateTabs();
    }, BATCH_MS);
  }

  #updateTabs(): void {
    const now = performance.now();
    for (const tab of this.#tabs) {
      if (tab.isReady) {
        const update = this.#updateFor(tab);
        if (!update) continue;
        tab.isReady = false;
        tab.tookAt = now;
        tab.port.send({ type: 'update', update });
      } else if (now - tab.tookAt > FROZEN_MS) {
        tab.cursor = undefined;
      }
    }
  }

  /** The changes since the tab's cursor; undefined if there are none. */
  #updateFor(tab: Tab): Update | undefined {
    if (this.#token === null) return undefined;
    const since = this.#state.since(tab.cursor, tab.isStale);
    if (!since) return undefined;
    tab.cursor = since.cursor;
    tab.isStale = false;
    return {
      ...since.news,
      connection: this.#connection,
      clockAheadMs: this.#clock.aheadMs,
      lag: this.#lag.now,
      isComplete: this.#isComplete,
    };
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
