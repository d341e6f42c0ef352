// Runs one command on many bots: in batches, so that there is progress, with an answer for each bot, and again for those that failed.

import { signal } from '@preact/signals';
import type { InvokeOutcome } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

export interface Answer {
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** The result as JSON, or the error. */
  text: string;
}

/** Sends the command to some bots. @returns the outcome of each. */
export type SendToBots = (
  ids: string[],
  signal: AbortSignal,
) => Promise<Record<string, InvokeOutcome>>;

/** Bots in one request: its answer comes when the slowest of them has answered. */
const BATCH = 50;
/** Requests at once. A slow batch does not keep the others waiting, and the service has room for other calls. */
const AT_ONCE = 4;

const WAITING: Answer = { state: 'waiting', text: '' };
const RUNNING: Answer = { state: 'running', text: '' };

export class BulkRun {
  /** By id, in the order of the bots. */
  readonly answers: Map<string, Answer>;
  /** Incremented when answers change. */
  readonly version = signal(0);
  readonly isRunning = signal(false);
  readonly #send: SendToBots;
  readonly #batchSize: number;
  #abort = new AbortController();

  /** @param batch bots in one request. */
  constructor(ids: readonly string[], send: SendToBots, batch = BATCH) {
    this.#batchSize = batch;
    this.answers = new Map(ids.map((id) => [id, WAITING]));
    this.#send = send;
  }

  get failed(): string[] {
    return [...this.answers].flatMap(([id, { state }]) => (state === 'failed' ? id : []));
  }

  /** How many have an answer. */
  get answered(): number {
    let count = 0;
    for (const { state } of this.answers.values()) {
      if (state === 'done' || state === 'failed') count += 1;
    }
    return count;
  }

  /** @param ids all, or those that failed. */
  async run(ids: readonly string[] = [...this.answers.keys()]): Promise<void> {
    if (this.isRunning.peek()) return;
    this.isRunning.value = true;
    this.#abort = new AbortController();
    this.#set(ids, () => WAITING);
    const rest = [...ids];
    const work = async (): Promise<void> => {
      while (rest.length > 0) await this.#batch(rest.splice(0, this.#batchSize));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    this.isRunning.value = false;
  }

  /** Those that have no answer yet fail: the service aborts what runs, and the others are not sent. */
  cancel(): void {
    this.#abort.abort();
  }

  async #batch(ids: string[]): Promise<void> {
    const { signal: gone } = this.#abort;
    if (gone.aborted) {
      this.#set(ids, () => ({ state: 'failed', text: t('bulk.cancelledBefore') }));
      return;
    }
    this.#set(ids, () => RUNNING);
    try {
      const outcomes = await this.#send(ids, gone);
      this.#set(ids, (id) => answerOf(outcomes[id]));
    } catch (thrown) {
      const text = gone.aborted
        ? t('bulk.cancelledAfter')
        : thrown instanceof Error
          ? thrown.message
          : String(thrown);
      this.#set(ids, () => ({ state: 'failed', text }));
    }
  }

  #set(ids: readonly string[], answer: (id: string) => Answer): void {
    for (const id of ids) this.answers.set(id, answer(id));
    this.version.value += 1;
  }
}

function answerOf(outcome: InvokeOutcome | undefined): Answer {
  if (!outcome) return { state: 'failed', text: t('bulk.noAnswer') };
  if ('error' in outcome) return { state: 'failed', text: outcome.error };
  return { state: 'done', text: JSON.stringify(outcome.result) };
}
