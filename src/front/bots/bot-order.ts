// The parameter `sort` of `GET /api/bots`. A cursor is a place in the order and names no bot: each front of each node can continue it.

import type { BotSnapshot } from '../../shared/contract/events.js';
import { DroverError } from '../../shared/errors.js';
import { type BotField, compareValues, type FieldValue } from '../../shared/query/bot-field.js';
import { readBotField } from '../../shared/query/read-bot-field.js';

interface SortKey {
  value: FieldValue;
  id: string;
}

export class BotOrder {
  readonly #field: BotField;
  readonly #sign: 1 | -1;

  /** @param sort a field, with a `-` before it for the reversed order. @throws DroverError `bad_request`. */
  constructor(sort: string) {
    const isDown = sort.startsWith('-');
    this.#sign = isDown ? -1 : 1;
    this.#field = readBotField(isDown ? sort.slice(1) : sort, 'sort');
  }

  /**
   * Those after the cursor, in order, at most `limit`.
   * @returns `next`: the cursor of the rest, null when there is none.
   * @throws DroverError `bad_request` for a cursor of another order.
   */
  page<T extends { snapshot: BotSnapshot }>(
    bots: Iterable<T>,
    limit = Number.POSITIVE_INFINITY,
    cursor?: string,
  ): { bots: T[]; next: string | null } {
    const after = cursor === undefined ? undefined : this.#read(cursor);
    const found: (SortKey & { bot: T })[] = [];
    for (const bot of bots) {
      const place = { value: this.#field.of(bot.snapshot), id: bot.snapshot.id, bot };
      if (!after || this.#compare(place, after) > 0) found.push(place);
    }
    found.sort((one, other) => this.#compare(one, other));
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return {
      bots: shown.map(({ bot }) => bot),
      next: last && found.length > shown.length ? this.#write(last) : null,
    };
  }

  #compare(one: SortKey, other: SortKey): number {
    const order = compareValues(one.value, other.value, this.#sign);
    return order !== 0 ? order : one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
  }

  #write({ value, id }: SortKey): string {
    const { name } = this.#field;
    return Buffer.from(JSON.stringify([name, this.#sign, value, id])).toString('base64url');
  }

  #read(cursor: string): SortKey {
    let parts: unknown;
    try {
      parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    } catch {
      // A broken cursor is reported below.
    }
    const [name, sign, value, id] = Array.isArray(parts) ? (parts as unknown[]) : [];
    const isValue = value === null || ['number', 'string', 'boolean'].includes(typeof value);
    if (name !== this.#field.name || sign !== this.#sign || !isValue || typeof id !== 'string') {
      throw new DroverError(
        'bad_request',
        'cursor is not one of this order: it is the next of a page with the same sort',
      );
    }
    return { value: value as FieldValue, id };
  }
}
