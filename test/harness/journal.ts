// Runs in the test's thread and owns a journal there, with a real ring, directory and broadcaster. Nothing happens between
// two statements of a test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import type { Journal, JournalPeers } from '../../src/journal/journal.js';
import type { Config } from '../../src/shared/contract/config.js';
import type { BotSnapshot, Item } from '../../src/shared/contract/events.js';
import type {
  Asked,
  JournalStatus,
  PageRequest,
} from '../../src/shared/contract/journal-messages.js';
import { messageJson } from '../../src/shared/contract/line-text.js';
import type { PreviousShutdown, StreamIdentity } from '../../src/shared/contract/threads.js';
import { createRing, slotsFor } from '../../src/shared/memory/layout.js';
import { createLags } from '../../src/shared/memory/loop-lag.js';
import { type Identity, Numbering, newIdentity } from '../../src/shared/stream/numbering.js';
import { eventually } from './bots.js';
import type { PastEvent } from './history.js';

// The build: an existing file is checked by a script that lies beside this module.
const BUILD = new URL('../../dist/src/journal/journal.js', import.meta.url).href;

/** A page without a filter. */
export const PAGE: Asked<PageRequest> = {
  token: 'a',
  filter: null,
  order: 'newest',
  afterSeq: null,
  beforeSeq: null,
  afterMs: null,
  beforeMs: null,
  limit: 1000,
  maxBytes: 1_000_000,
  lines: true,
};

/** The key of a filter for these bots. */
export const keyOfSessions = (...ids: string[]): string =>
  JSON.stringify([null, null, ids, null, null]);

/** The key of a filter for a query, all of whose terms are judged frame by frame. */
export const keyOfQuery = (query: string): string =>
  JSON.stringify([null, null, null, null, null, null, [query, null]]);

export const logItem = (
  message: string,
  over: Partial<Extract<Item, { kind: 'log' }>> = {},
): Item => ({
  kind: 'log',
  timestamp_ms: Date.now(),
  level: 'info',
  scope: 'test',
  session_id: null,
  transport: null,
  direction: null,
  message_json: messageJson(message),
  ...over,
});

export const sessionItem = (id: string, patch: Partial<BotSnapshot>): Item => ({
  kind: 'session',
  id,
  patch: { id, kind: 'test', status: 'running', labels: {}, ...patch } as Partial<BotSnapshot>,
});

export interface LifeOptions {
  /** The class to use. Default: the build's, which can check an existing file. */
  Journal?: typeof Journal;
  ringBytes?: number;
  config?: Partial<Config['journal']>;
  /** Why main could not keep the numbering. */
  fault?: string;
  peers?: Partial<JournalPeers>;
}

/** One run of a service, as the journal sees it. */
export class Life {
  readonly dir: string;
  readonly stream: StreamIdentity;
  readonly first: number;
  readonly previousShutdown: PreviousShutdown;
  readonly broadcaster: Broadcaster;
  journal: Journal;
  readonly #begin: (options: LifeOptions) => Journal;
  readonly told: { status: JournalStatus; notice: string | null }[] = [];

  private constructor(
    dir: string,
    stream: StreamIdentity,
    { first, previousShutdown }: { first: number; previousShutdown: PreviousShutdown },
    JournalClass: typeof Journal,
    options: LifeOptions,
  ) {
    this.dir = dir;
    this.stream = stream;
    this.first = first;
    this.previousShutdown = previousShutdown;
    this.broadcaster = new Broadcaster(stream, () => this.journal.wake());
    this.#begin = ({ config, fault, peers }) =>
      new JournalClass(
        {
          config: {
            enabled: true,
            max_bytes: 2 ** 30,
            max_age_hours: 168,
            flush_ms: 10,
            fsync: 'never',
            ...config,
          },
          dir,
          node: null,
          stream,
          reader: 0,
          first,
          previousShutdown: this.previousShutdown,
          fault: fault ?? null,
          lag: { buffer: createLags(1), block: 0 },
        },
        {
          status: (status, notice) => this.told.push({ status, notice }),
          baseline: async () => this.broadcaster.baseline(),
          ...peers,
        },
      );
    this.journal = this.#begin(options);
  }

  /** Replaces the journal, as a new thread would. */
  async replace(options: LifeOptions = {}): Promise<void> {
    await this.journal.close();
    this.told.length = 0;
    this.journal = this.#begin(options);
    await this.on();
  }

  /** Starts a run in this directory, as main does. */
  static async begin(dir: string, options: LifeOptions = {}): Promise<Life> {
    const JournalClass =
      options.Journal ?? ((await import(BUILD)) as { Journal: typeof Journal }).Journal;
    const { first, previousShutdown, ...identity } = begin(dir, options.fault);
    const bytes = options.ringBytes ?? 2 ** 22;
    const ring = createRing({ bytes, slots: slotsFor(bytes), fronts: 1 }, first);
    return new Life(dir, { ring, ...identity }, { first, previousShutdown }, JournalClass, options);
  }

  get state(): JournalStatus['state'] | undefined {
    return this.told.at(-1)?.status.state;
  }

  get notices(): string[] {
    return this.told.flatMap(({ notice }) => notice ?? []);
  }

  on(): Promise<void> {
    return eventually(async () => this.state === 'on', 'the journal is on');
  }

  /** Publishes lines. @returns the number after the last. */
  say(...messages: string[]): number {
    return this.broadcaster.publish(messages.map((message) => logItem(message)));
  }

  /** All events in the journal, or those of a request. */
  async past(request: Partial<PageRequest> = {}): Promise<(PastEvent & { seq: number })[]> {
    const { body } = await this.journal.answers.page({
      ...PAGE,
      order: 'oldest',
      limit: 100_000,
      maxBytes: 2 ** 26,
      ...request,
    });
    const lines = Buffer.from(body).toString().split('\n').slice(0, -1);
    return lines.map((line) => {
      const event = JSON.parse(line) as PastEvent;
      return { ...event, seq: Number(event.id.slice(event.id.indexOf('-') + 1)) };
    });
  }

  /** Ends the run as main does. */
  async end(): Promise<void> {
    await this.journal.close();
  }
}

function begin(
  dir: string,
  fault: string | undefined,
): Identity & { first: number; previousShutdown: PreviousShutdown } {
  if (fault !== undefined) return { ...newIdentity(), first: 1, previousShutdown: 'unexamined' };
  const { numbering, first, previousShutdown } = Numbering.begin(dir);
  return { ...numbering.identity, first, previousShutdown };
}

/** A directory that is removed after the test. */
export function journalDir(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-journal-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The messages of the lines of all pages: on a busy machine a search ends before it has found everything. */
export async function messagesOf(
  life: Life,
  request: Pick<PageRequest, 'order'> & Partial<PageRequest>,
): Promise<string[]> {
  const { body, cursor } = await life.journal.answers.page({
    ...PAGE,
    limit: 10_000,
    maxBytes: 2 ** 24,
    ...request,
  });
  const messages = Buffer.from(body)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { event: string; data: { message: string } })
    .filter(({ event }) => event === 'log')
    .map(({ data }) => data.message);
  if (cursor === null) return messages;
  const rest = request.order === 'newest' ? { beforeSeq: cursor } : { afterSeq: cursor };
  return [...messages, ...(await messagesOf(life, { ...request, ...rest }))];
}

/** Expects each number once and in order, or in a declared gap. */
export function expectNoHole(events: readonly { seq: number; data: PastEvent['data'] }[]): void {
  let last: number | undefined;
  for (const { seq, data } of events) {
    if (last !== undefined && seq !== last + 1) {
      expect(data).toMatchObject({ from: expect.stringMatching(new RegExp(`-${last + 1}$`)) });
    }
    last = seq;
  }
}
