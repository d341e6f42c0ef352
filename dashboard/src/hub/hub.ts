// Runs in the shared worker, or in the tab that leads (link.ts). Owns the browser's one stream and what is kept of it.

import {
  ApiError,
  type BotSnapshot,
  DroverClient,
  type EventStream,
  type Fetch,
  type StreamEvent,
  type StreamState,
} from '../../../src/client/index.js';
import { gapLine, logLine } from './line.js';
import { Ring } from './line-ring.js';
import type {
  Connection,
  Inheritance,
  Line,
  Port,
  StatusChange,
  ToHub,
  ToTab,
  Update,
} from './messages.js';
import { Seconds } from './seconds.js';

/** Lines that are kept for the tabs, and their characters; the oldest go. What is older is in the service's journal. */
const MAX_LINES = 20_000;
const MAX_LINE_CHARS = 16 * 1024 * 1024;
/** Changes of status that are kept, of all bots together; the oldest go. */
const MAX_CHANGES = 10_000;
/** A tab that has taken nothing for so long, in ms, is asleep: what it would need is not kept for it any more. */
const ASLEEP_MS = 60_000;
/** Events are gathered for so long, in ms, before tabs are told: a page that is drawn more often shows nobody more. */
const GATHER_MS = 33;
/** The Date header has whole seconds; a difference below this is none. */
const CLOCK_SLACK_MS = 2000;

type TabPort = Port<ToTab, ToHub>;

/** How far a tab has got. */
interface Tab {
  port: TabPort;
  /** It has drawn its last update. */
  isReady: boolean;
  /** When it last took something, by performance.now(). */
  tookAt: number;
  /** Undefined while it has nothing or is asleep: the next update is everything. */
  cursor: Cursor | undefined;
}

interface Cursor {
  line: number;
  change: number;
  second: number;
  bots: Set<string>;
  /** Connection or clock have changed. */
  isStale: boolean;
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
  #clockAheadMs = 0;
  readonly #bots = new Map<string, BotSnapshot>();
  readonly #lines = new Ring<Line>(MAX_LINES, MAX_LINE_CHARS, ({ text }) => text.length);
  readonly #changes = new Ring<StatusChange>(MAX_CHANGES);
  readonly #seconds = new Seconds();
  #timer: ReturnType<typeof setTimeout> | undefined;

  #inheritance: Inheritance | undefined;

  /** @param url of the service. @param inheritance what another hub has left behind; it counts for its own token only. */
  constructor(url: string, inheritance?: Inheritance) {
    this.#url = url;
    this.#inheritance = inheritance;
  }

  attach(port: TabPort): void {
    const tab: Tab = { port, isReady: false, tookAt: performance.now(), cursor: undefined };
    port.receive = (message) => this.#receive(tab, message);
  }

  /** Ends it, because another has taken over: that one tells the tabs. */
  close(): void {
    this.#tabs.clear();
    this.#forget();
    clearTimeout(this.#timer);
  }

  #receive(tab: Tab, message: ToHub): void {
    switch (message.type) {
      case 'hello':
        this.#tabs.add(tab);
        tab.cursor = undefined;
        tab.isReady = true;
        this.#greet(tab, message.token, message.isNew);
        this.#feedSoon();
        break;
      case 'taken':
        tab.isReady = true;
        tab.tookAt = performance.now();
        this.#feedSoon();
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

  #greet({ port }: Tab, token: string | null, isNew: boolean): void {
    const isOther = token !== null && token !== this.#token;
    if (isOther && (isNew || this.#token === null)) {
      if (isNew) this.#others.clear();
      this.#signIn(token);
      return;
    }
    if (isOther && !this.#isAccepted) this.#others.add(token);
    port.send({ type: 'session', token: this.#token, reason: null });
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
    for (const bot of left.bots) this.#bots.set(bot.id, bot);
    for (const line of left.lines) this.#lines.push(line);
    for (const change of left.changes) this.#changes.push(change);
    this.#seconds.add(left.seconds);
    // What came behind it and was no line comes once more, which changes nothing.
    return left.lines.at(-1)?.id ?? null;
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
    this.#bots.clear();
    this.#lines.clear();
    this.#changes.clear();
    this.#seconds.clear();
    this.#connection = { state: 'connecting' };
    for (const tab of this.#tabs) tab.cursor = undefined;
  }

  async #read(token: string, lastEventId: string | null): Promise<void> {
    const client = new DroverClient({
      url: this.#url,
      token,
      fetch: (...request) => this.#ask(...request),
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
    for (const { cursor } of this.#tabs) if (cursor) cursor.isStale = true;
    this.#feedSoon();
  }

  /** Every answer says what time it is for the service. */
  async #ask(...request: Parameters<Fetch>): Promise<Response> {
    const asked = Date.now();
    const answer = await fetch(...request);
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    // The header is cut to the second.
    if (!Number.isNaN(theirs)) this.#setClock((asked + Date.now()) / 2 - (theirs + 500));
    return answer;
  }

  #setClock(aheadMs: number): void {
    const ahead = Math.abs(aheadMs) < CLOCK_SLACK_MS ? 0 : Math.round(aheadMs);
    if (ahead === this.#clockAheadMs) return;
    this.#clockAheadMs = ahead;
    this.#markStale();
  }

  #take(events: StreamEvent[], client: DroverClient): void {
    const now = Date.now();
    for (const event of events) {
      switch (event.event) {
        case 'log':
          this.#lines.push(logLine(event.id ?? '', event.data));
          this.#seconds.count(now, event.data.level);
          break;
        case 'session':
          this.#takeSnapshot(event.data.snapshot);
          // Those at the beginning are no events.
          if (event.id !== null) this.#seconds.count(now, undefined);
          break;
        case 'gap':
          this.#lines.push(gapLine(event.id ?? '', event.data, now - this.#clockAheadMs));
          void this.#findGone(client);
          break;
        default:
          this.#seconds.count(now, undefined);
      }
    }
    this.#feedSoon();
  }

  #takeSnapshot(snapshot: BotSnapshot): void {
    const { id, status, since_ms: at } = snapshot;
    const before = this.#bots.get(id);
    if (before?.status !== status || before.since_ms !== at) {
      this.#changes.push({ bot: id, status, at });
    }
    if (status === 'deleted') this.#bots.delete(id);
    else this.#bots.set(id, snapshot);
    this.#markBot(id);
  }

  #markBot(id: string): void {
    for (const { cursor } of this.#tabs) cursor?.bots.add(id);
  }

  /** Bots that were deleted in a gap have no event that says so. */
  async #findGone(client: DroverClient): Promise<void> {
    const before = new Set(this.#bots.keys());
    try {
      const present = new Set((await client.bots.list()).map(({ id }) => id));
      for (const id of before) {
        if (present.has(id)) continue;
        this.#bots.delete(id);
        this.#markBot(id);
      }
      this.#feedSoon();
    } catch {
      // Not there again: the next gap comes with the next connection.
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
    const { cursor } = tab;
    if (this.#token === null) return undefined;
    const isLapped =
      !cursor || cursor.line < this.#lines.first || cursor.change < this.#changes.first;
    const isNews =
      isLapped ||
      cursor.isStale ||
      cursor.bots.size > 0 ||
      cursor.line < this.#lines.next ||
      cursor.change < this.#changes.next;
    if (!isNews && this.#seconds.from(cursor.second + 1).length === 0) return undefined;
    const seconds = this.#seconds.from(isLapped ? 0 : cursor.second);
    const ids = isLapped ? [...this.#bots.keys()] : [...cursor.bots];
    const update: Update = {
      reset: isLapped,
      connection: this.#connection,
      clockAheadMs: this.#clockAheadMs,
      lines: this.#lines.from(isLapped ? 0 : cursor.line),
      firstLine: this.#lines.first,
      changes: this.#changes.from(isLapped ? 0 : cursor.change),
      bots: ids.flatMap((id) => this.#bots.get(id) ?? []),
      gone: ids.filter((id) => !this.#bots.has(id)),
      seconds,
    };
    tab.cursor = {
      line: this.#lines.next,
      change: this.#changes.next,
      second: seconds.at(-1)?.[0] ?? cursor?.second ?? 0,
      bots: new Set(),
      isStale: false,
    };
    return update;
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
