// Runs in main. Owns the operations on disk: a record for each, and what has become of its bots in pieces of some hundred.

import type { JsonObject } from '../../shared/contract/json.js';
import type { BotResult } from '../../shared/contract/operation-bounds.js';
import type { Operation } from '../../shared/contract/operations.js';
import type { Store } from './store.js';
import type { Change, Table } from './store-file.js';

/** An operation as it is stored: its bots are in separate pieces. */
export type OperationRecord = Omit<Operation, 'node'> & {
  /** What of a rollout clients do not see: what is merged into configurations. */
  plan?: { config: JsonObject };
};

/** A bot of an operation. */
export interface RecordedBot {
  id: string;
  /** The incarnation of the bot, '' while it is not known: decides who may see it. */
  made: string;
  result: BotResult;
  /** The status of one that is done; why another has failed or was skipped. */
  text: string | null;
  began_ms: number | null;
  ended_ms: number | null;
}

/** Without names of fields, which would be most of it. */
type StoredBot = [
  id: string,
  made: string,
  result: BotResult,
  text: string | null,
  began_ms: number | null,
  ended_ms: number | null,
];

/** Bots in one entry: a change of one writes them all, and each entry costs pages. */
const PIECE_BOTS = 250;

export class OperationStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Oldest first: ids begin with the time. */
  records(): OperationRecord[] {
    return Array.from(this.#table.getRange({ start: 'o/', end: 'o0' }), ({ value }) => value).map(
      (value) => value as OperationRecord,
    );
  }

  /** In their order. */
  *bots({ id, bots }: Pick<OperationRecord, 'id' | 'bots'>): Generator<RecordedBot> {
    for (let piece = 0; piece * PIECE_BOTS < bots; piece++) {
      for (const stored of (this.#table.get(pieceKey(id, piece)) ?? []) as StoredBot[]) {
        const [bot, made, result, text, began_ms, ended_ms] = stored;
        yield { id: bot, made, result, text, began_ms, ended_ms };
      }
    }
  }

  /**
   * On disk when this resolves. @param changed indexes of the bots that have changed since it was stored last.
   * @throws DroverError `not_stored`.
   */
  put(
    record: OperationRecord,
    bots: readonly RecordedBot[],
    changed: Iterable<number>,
  ): Promise<void> {
    const pieces = new Set<number>();
    for (const at of changed) pieces.add(Math.floor(at / PIECE_BOTS));
    return this.#store.write([
      { table: 'operations', key: recordKey(record.id), value: record },
      ...Array.from(pieces, (piece): Change => {
        const some = bots.slice(piece * PIECE_BOTS, (piece + 1) * PIECE_BOTS);
        const key = pieceKey(record.id, piece);
        return { table: 'operations', key, value: some.map(storedBot) };
      }),
    ]);
  }

  /** Removed from disk when this resolves. @throws DroverError `not_stored`. */
  remove(records: readonly Pick<OperationRecord, 'id' | 'bots'>[]): Promise<void> {
    const keys = records.flatMap(({ id, bots }) => [
      recordKey(id),
      ...Array.from({ length: Math.ceil(bots / PIECE_BOTS) }, (_, piece) => pieceKey(id, piece)),
    ]);
    return this.#store.write(keys.map((key) => ({ table: 'operations', key })));
  }

  get #table(): Table<OperationRecord | StoredBot[]> {
    return this.#store.table<OperationRecord | StoredBot[]>('operations');
  }
}

function recordKey(id: string): string {
  return `o/${id}`;
}

function pieceKey(id: string, piece: number): string {
  return `p/${id}/${piece}`;
}

function storedBot({ id, made, result, text, began_ms, ended_ms }: RecordedBot): StoredBot {
  return [id, made, result, text, began_ms, ended_ms];
}
