// Runs in the bus thread. Puts a question about the past to the nodes that can have an answer: to this one directly, to others over NATS.

import type { MissingNode } from '../../shared/contract/journal-messages.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { unlessAborted } from '../../shared/unless-aborted.js';
import type { BusMember } from '../wire/bus-messages.js';
import { parseNamed } from '../wire/bus-validators.js';
import type { Calls } from '../wire/calls.js';
import { reasonOf } from '../wire/reasons.js';
import type { HistoryQuestion } from './history-messages.js';
import type { OwnHistory } from './own-history.js';

/** How long a node may take, in ms. A search that finds nothing ends after 1.5 s, and may wait for others. */
const ANSWER_MS = 10_000;
/** The same for one that is lost: it may have come back a moment ago. */
const LOST_MS = 1000;
/** Clocks of nodes may differ by as much, in ms. */
const CLOCKS_MS = 60_000;

export interface HistoryNodesParts {
  node: string;
  own: OwnHistory;
  /** Undefined before the first connection. */
  calls: () => Calls | undefined;
  /** Why the cluster cannot be asked; null when it can. */
  cutOff: () => string | null;
  /** The nodes of the cluster, with this one. */
  members: () => readonly BusMember[];
}

export interface Answered {
  node: string;
  bytes: Buffer;
}

export interface Outcome {
  answers: Answered[];
  missing: MissingNode[];
  faults: Map<string, DroverError>;
}

/** Reads what another node has answered. @throws DroverError `unavailable` instead of what `read` throws. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const isOther = thrown instanceof DroverError && thrown.code !== 'bad_request';
    if (isOther) throw thrown;
    throw new DroverError('unavailable', `its answer cannot be read: ${messageOf(thrown)}`);
  }
}

/** A node whose answer cannot be read is one that has not answered. */
export function readAnswers<T>(
  { answers, missing, faults }: Outcome,
  read: (bytes: Buffer) => T,
): Omit<Outcome, 'answers'> & { answers: { node: string; answer: T }[] } {
  const found: { node: string; answer: T }[] = [];
  const all = new Map(faults);
  for (const { node, bytes } of answers) {
    try {
      found.push({ node, answer: readable(() => read(bytes)) });
    } catch (thrown) {
      all.set(node, thrown as DroverError);
    }
  }
  const unread = [...all].filter(([node]) => !faults.has(node));
  const named = unread.map(([node, { message: reason }]) => ({ node, reason }));
  const every = [...missing, ...named].sort((one, other) => (one.node < other.node ? -1 : 1));
  return { answers: found, missing: every, faults: all };
}

/**
 * Asks nodes the same question, whose answer is JSON.
 * @param wanted, @param afterMs as for {@link HistoryNodes.of}. @throws DroverError when no node has answered.
 */
export async function askAll<T>(
  nodes: Pick<HistoryNodes, 'of' | 'ask'>,
  wanted: readonly string[] | null,
  afterMs: number | null,
  question: HistoryQuestion,
  cancelled?: AbortSignal,
): Promise<{ answers: { node: string; answer: T }[]; missing: MissingNode[] }> {
  const asked = nodes.of(wanted, afterMs).map((node) => [node, question] as const);
  const answered = await nodes.ask(new Map(asked), cancelled);
  const { answers, missing, faults } = readAnswers(answered, (bytes) =>
    parseNamed<T>('BusHistory', question.kind, bytes.toString()),
  );
  if (answers.length === 0) {
    throw faults.values().next().value ?? new DroverError('unavailable', 'no node answers');
  }
  return { answers, missing };
}

export class HistoryNodes {
  readonly #parts: HistoryNodesParts;

  constructor(parts: HistoryNodesParts) {
    this.#parts = parts;
  }

  /**
   * The nodes that can have events of this time, by name. One that is lost has none after its last renewal.
   * @param wanted null for all. @param afterMs Unix epoch ms, null for all times.
   */
  of(wanted: readonly string[] | null, afterMs: number | null): string[] {
    const { members, node } = this.#parts;
    const names = members()
      .filter(({ isLive, seenMs }) => isLive || afterMs === null || seenMs + CLOCKS_MS >= afterMs)
      .map((member) => member.node);
    return [...new Set([node, ...names])]
      .filter((name) => wanted === null || wanted.includes(name))
      .sort();
  }

  isLive(node: string): boolean {
    return this.#parts.members().some((member) => member.node === node && member.isLive);
  }

  /** Asks each node its question at the same time. */
  async ask(
    questions: ReadonlyMap<string, HistoryQuestion>,
    cancelled?: AbortSignal,
  ): Promise<Outcome> {
    const answers: Answered[] = [];
    const missing: MissingNode[] = [];
    const faults = new Map<string, DroverError>();
    await Promise.all(
      [...questions].map(async ([node, question]) => {
        try {
          answers.push({ node, bytes: await this.#ask(node, question, cancelled) });
        } catch (thrown) {
          const fault =
            thrown instanceof DroverError
              ? thrown
              : new DroverError('unavailable', reasonOf(thrown));
          missing.push({ node, reason: fault.message });
          faults.set(node, fault);
        }
      }),
    );
    answers.sort((one, other) => (one.node < other.node ? -1 : 1));
    missing.sort((one, other) => (one.node < other.node ? -1 : 1));
    return { answers, missing, faults };
  }

  async #ask(node: string, question: HistoryQuestion, cancelled?: AbortSignal): Promise<Buffer> {
    const { own, calls, cutOff } = this.#parts;
    if (node === this.#parts.node) {
      const bytes = await own.answer(question, cancelled);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const reason = cutOff();
    const asking = calls();
    if (reason !== null || !asking) {
      throw new DroverError(
        'unavailable',
        `this node is cut off from the cluster: ${reason ?? 'it is connecting'}`,
      );
    }
    const withinMs = this.isLive(node) ? ANSWER_MS : LOST_MS;
    const answer = asking.call(node, 'history', question, withinMs, cancelled) as Promise<Buffer>;
    return cancelled ? unlessAborted(answer, cancelled) : answer;
  }
}
