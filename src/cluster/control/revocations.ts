// Runs in main. Owns the revocations that this node knows, in a file: a restart must not bring back a token that other nodes have not
// all confirmed, and somebody can store an earlier record of any other again.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { writePrivateFile } from '../../shared/private-file.js';

const FILE = 'cluster-revoked-tokens.json';
/**
 * Ids that are remembered although they are confirmed: a token may be valid for ever, and what was written before its revocation can
 * be written again. When there are more, the oldest are forgotten. As many tokens can be valid at a time.
 */
const MAX_DEAD = 10_000;
/** What is confirmed may be on the disk so much later, in ms: the bucket has it. */
const LATER_MS = 1000;

export class Revocations {
  readonly #path: string;
  /** Bounded by the number of tokens that there can be. */
  readonly #open: Set<string>;
  /** The oldest first. */
  readonly #dead: Set<string>;
  #later: NodeJS.Timeout | undefined;

  /** @param say a line for the operator. */
  constructor(dataDir: string, say: (line: string) => void) {
    this.#path = join(dataDir, FILE);
    const { ids, dead } = readFile(this.#path, say);
    this.#open = new Set(ids);
    this.#dead = new Set(dead);
  }

  /** Those that are not confirmed. */
  all(): string[] {
    return [...this.#open];
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  isDead(id: string): boolean {
    return this.#open.has(id) || this.#dead.has(id);
  }

  /** @throws Error of the disk. It is open nevertheless, until a restart. */
  begin(id: string): void {
    if (this.#open.has(id)) return;
    this.#open.add(id);
    this.markDead(id);
    this.#write();
  }

  /** Every live node has confirmed it. */
  confirmed(id: string): void {
    if (this.#open.delete(id)) this.#writeLater();
  }

  markDead(id: string): void {
    if (this.#dead.has(id)) return;
    this.#dead.add(id);
    const [oldest] = this.#dead;
    if (this.#dead.size > MAX_DEAD && oldest !== undefined) this.#dead.delete(oldest);
    this.#writeLater();
  }

  close(): void {
    if (this.#later) this.#writeNow();
  }

  #writeLater(): void {
    this.#later ??= setTimeout(() => this.#writeNow(), LATER_MS).unref();
  }

  #writeNow(): void {
    try {
      this.#write();
    } catch {
      // What is open is confirmed again after a restart; the bucket has the rest.
    }
  }

  #write(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    const [ids, dead] = [[...this.#open], [...this.#dead]];
    writePrivateFile(this.#path, JSON.stringify({ v: 1, ids, dead }));
  }
}

function readFile(path: string, say: (line: string) => void): { ids: string[]; dead: string[] } {
  try {
    const { ids, dead } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    // Releases before have no `dead`.
    return { ids: strings(ids), dead: strings(dead) };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') {
      say(
        `${path} cannot be read (${messageOf(thrown)}): tokens that were revoked while NATS was away may be valid again`,
      );
    }
    return { ids: [], dead: [] };
  }
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
