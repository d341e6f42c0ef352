// Runs in main. Owns the revocations that other nodes have not all confirmed, in a file: a restart must not bring such a token back.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { writePrivateFile } from '../../shared/private-file.js';

const FILE = 'cluster-revoked-tokens.json';
/**
 * Ids that are remembered as dead although they are confirmed: what was written before the revocation may still be on its way here.
 * When there are more, the oldest are forgotten; by then the bucket has told that they are gone.
 */
const MAX_DEAD = 10_000;

export class Revocations {
  readonly #path: string;
  /** Bounded by the number of tokens that there can be. */
  readonly #open: Set<string>;
  readonly #dead = new Set<string>();

  /** @param say a line for the operator. */
  constructor(dataDir: string, say: (line: string) => void) {
    this.#path = join(dataDir, FILE);
    this.#open = new Set(readIds(this.#path, say));
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
    if (!this.#open.delete(id)) return;
    try {
      this.#write();
    } catch {
      // It is then confirmed again after a restart.
    }
  }

  markDead(id: string): void {
    this.#dead.add(id);
    const [oldest] = this.#dead;
    if (this.#dead.size > MAX_DEAD && oldest !== undefined) this.#dead.delete(oldest);
  }

  #write(): void {
    writePrivateFile(this.#path, JSON.stringify({ v: 1, ids: [...this.#open] }));
  }
}

function readIds(path: string, say: (line: string) => void): string[] {
  try {
    const { ids } = JSON.parse(readFileSync(path, 'utf8')) as { ids?: unknown };
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') {
      say(
        `${path} cannot be read (${messageOf(thrown)}): tokens that were revoked while NATS was away may be valid again`,
      );
    }
    return [];
  }
}
