// Runs in the shared worker, or in the tab that leads (link.ts). Owns the browser's one stream and what is kept of it.

import {
  ApiError,
  DroverClient,
  type EventStream,
  type StreamEvent,
  type StreamState,
} from '../../../src/client/index.js';
import { type Cursor, Kept } from './kept.js';
import type { Connection, Inheritance, Port, ToHub, ToTab, Update } from './messages.js';
import { ServiceClock } from './service-clock.js';

/** A tab that has taken nothing for so long, in ms, is asleep: what it would need is not kept for it any more. */
const ASLEEP_MS = 60_000;
/** How often tabs are asked whether they are there, in ms, and after how many times without a word they are forgotten. */
const PING_MS = 60_000;
const MAX_PINGS = 3;
/** Events are gathered for so long, in ms, before tabs are told: a page that is drawn more often shows nobody more. */
const GATHER_MS = 33;

type TabPort = Port<ToTab, ToHub>;

interface Tab {
  port: TabPort;
  /** It has drawn its last update. */
  isReady: boolean;
  /** When it last took something, by performance.now(). */
  tookAt: number;
  /** How often it was asked since it last said something. Not for how long: this machine may have slept. */
  pings: number;
  /** Undefined while it has nothing or is asleep: the next update is everything. */
  cursor: Cursor | undefined;
  /** Connection or clock have changed. */
  isStale: boolean;
  /** It was not there when it was asked. */
  isForgotten: boolean;
}

export class Hub {
  readonly #url: string;
  readonly #tabs = new Set<Tab>();
  #token: string | null = null;
  /** The service has taken the token. Until then those of other tabs are remembered: it may be one of them that is good. */
  #isAccepted = false;
  readonly #others = new Set<string>();
  #stream: EventStream | undefined;
  #connection: Connection = { state: 'connecting' };
  readonly #clock = new ServiceClock(() => this.#markStale());
  readonly #kept = new Kept((bot) => {
    for (const { cursor } of this.#tabs) cursor?.bots.add(bot);
  });
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #asking: ReturnType<typeof setInterval>;
  #inheritance: Inheritance | undefined;

  /** @param url of the service. @param inheritance what another hub has left behind; it counts for its own token only. */
  constructor(url: string, inheritance?: Inheritance) {
    this.#url = url;
    this.#inheritance = inheritance;
    this.#asking = setInterval(() => this.#askTabs(), PING_MS);
  }

  attach(port: TabPort): void {
    const tab: Tab = {
      port,
      isReady: false,
      tookAt: performance.now(),
      pings: 0,
      cursor: undefined,
      isStale: false,
      isForgotten: false,
    };
    port.receive = (message) => this.#receive(tab, message);
  }

  /** Ends it, because another has taken over: that one tells the tabs. */
  close(): void {
    this.#tabs.clear();
    this.#forget();
    clearTimeout(this.#timer);
    clearInterval(this.#asking);
  }

  #receive(tab: Tab, message: ToHub): void {
    tab.pings = 0;
    // It has only slept.
    if (tab.isForgotten && message.type !== 'bye') this.#greet(tab, null, false);
    switch (message.type) {
      case 'hello':
        this.#greet(tab, message.token, message.isNew);
        break;
      case 'taken':
        tab.isReady = true;
        tab.tookAt = performance.now();
        this.#feedSoon();
        break;
      case 'here':
        break;
      case 'retry':
        this.#stream?.retryNow();
        break;
      case 'sign-out':
        this.#signOut(null);
        break;
      case 'bye':
        this.#tabs.delete(tab);
    }
  }

  #greet(tab: Tab, token: string | null, isNew: boolean): void {
    this.#tabs.add(tab);
    tab.isForgotten = false;
    tab.cursor = undefined;
    tab.isReady = true;
    this.#feedSoon();
    const isOther = token !== null && token !== this.#token;
    if (isOther && (isNew || this.#token === null)) {
      if (isNew) this.#others.clear();
      this.#signIn(token);
      return;
    }
    if (isOther && !this.#isAccepted) this.#others.add(token);
    tab.port.send({ type: 'session', token: this.#token, reason: null });
  }

  #signIn(token: string): void {
    this.#forget();
    this.#token = token;
    this.#others.delete(token);
    this.#tellSession(null);
    void this.#read(token, this.#inherit(token));
  }

  /** @returns the id of the event to go on behind, null for none. */
  #inherit(token: string): string | null {
    const left = this.#inheritance;
    this.#inheritance = undefined;
    if (left?.token !== token) return null;
    // What came behind it and was no line comes once more, which changes nothing.
    return this.#kept.inherit(left);
  }

  #signOut(reason: string | null): void {
    this.#forget();
    this.#others.clear();
    this.#tellSession(reason);
  }

  #refuse(): void {
    const [other] = this.#others;
    if (other !== undefined) this.#signIn(other);
    else this.#signOut('The token is not accepted any more: it was revoked or has run out.');
  }

  #tellSession(reason: string | null): void {
    for (const { port } of this.#tabs) port.send({ type: 'session', token: this.#token, reason });
  }

  #forget(): void {
    this.#stream?.close();
    this.#stream = undefined;
    this.#token = null;
    this.#isAccepted = false;
    this.#kept.clear();
    this.#connection = { state: 'connecting' };
    for (const tab of this.#tabs) tab.cursor = undefined;
  }

  async #read(token: string, lastEventId: string | null): Promise<void> {
    const client = new DroverClient({
      url: this.#url,
      token,
      fetch: this.#clock.fetch,
    });
    const stream = client.stream({
      lastEventId,
      backoff: { firstMs: 500, maxMs: 10_000 },
      onState: (state) => {
        if (this.#stream === stream) this.#become(state);
      },
    });
    this.#stream = stream;
    try {
      for await (const events of stream.batches()) {
        if (this.#stream !== stream) return;
        this.#take(events, client);
      }
    } catch (thrown) {
      if (this.#stream !== stream) return;
      if (thrown instanceof ApiError && thrown.status === 401) return this.#refuse();
      this.#setConnection({ state: 'refused', reason: messageOf(thrown) });
    }
  }

  #become(state: StreamState): void {
    switch (state.state) {
      case 'open':
        this.#isAccepted = true;
        this.#others.clear();
        this.#setConnection({ state: 'open' });
        break;
      case 'connecting':
        // A first try after a break is soon over; what is shown then stays until it is known how it went.
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
    this.#feedSoon();
  }

  #take(events: StreamEvent[], client: DroverClient): void {
    const kept = this.#kept;
    for (const event of events) {
      switch (event.event) {
        case 'log':
          kept.takeLine(event.id ?? '', event.data);
          break;
        case 'session':
          kept.takeSnapshot(event.data.snapshot);
          // Those at the beginning are no events.
          if (event.id !== null) kept.countOther();
          break;
        case 'gap':
          kept.takeGap(event.id ?? '', event.data, Date.now() - this.#clock.aheadMs);
          void this.#findGone(client);
          break;
        default:
          kept.countOther();
      }
    }
    this.#feedSoon();
  }

  /** Bots that were deleted in a gap have no event that says so. */
  async #findGone(client: DroverClient): Promise<void> {
    const before = this.#kept.botIds;
    try {
      const present = new Set((await client.bots.list()).map(({ id }) => id));
      for (const id of before) if (!present.has(id)) this.#kept.drop(id);
      this.#feedSoon();
    } catch {
      // Not there again: the next gap comes with the next connection.
    }
  }

  /** A tab that has crashed, or was ended by the system, says no goodbye. */
  #askTabs(): void {
    for (const tab of this.#tabs) {
      if (tab.pings < MAX_PINGS) {
        tab.pings += 1;
        tab.port.send({ type: 'ping' });
      } else {
        tab.isForgotten = true;
        this.#tabs.delete(tab);
      }
    }
  }

  #feedSoon(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#feed();
    }, GATHER_MS);
  }

  #feed(): void {
    const now = performance.now();
    for (const tab of this.#tabs) {
      if (tab.isReady) {
        const update = this.#updateFor(tab);
        if (!update) continue;
        tab.isReady = false;
        tab.tookAt = now;
        tab.port.send({ type: 'update', update });
      } else if (now - tab.tookAt > ASLEEP_MS) {
        tab.cursor = undefined;
      }
    }
  }

  /** What is new for the tab, undefined when nothing is. */
  #updateFor(tab: Tab): Update | undefined {
    if (this.#token === null) return undefined;
    const since = this.#kept.since(tab.cursor, tab.isStale);
    if (!since) return undefined;
    tab.cursor = since.cursor;
    tab.isStale = false;
    return { ...since.news, connection: this.#connection, clockAheadMs: this.#clock.aheadMs };
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
