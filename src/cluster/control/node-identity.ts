// In main. What a node keeps of itself in its data directory: who it is, and what was asked of it.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writePrivateFile } from '../../shared/private-file.js';
import type { NodeRecord } from './parts.js';

const FILE = 'cluster-node.json';
const WANTED = ['live', 'cordoned', 'draining'] as const;

interface Kept {
  secret: string;
  wanted: NodeRecord['wanted'];
}

export class NodeIdentity {
  /**
   * Tells this service, restarted, from another one with its name. A copy of the data directory, on another machine or in another
   * place, has another: else two services would take the lease from each other.
   */
  readonly id: string;
  /** It was made at this start. */
  readonly isNew: boolean;
  readonly path: string;
  #kept: Kept;

  /** @param dir the data directory; locked by this process. @throws Error of the system when the file cannot be written */
  constructor(dir: string) {
    this.path = join(dir, FILE);
    const kept = read(this.path);
    this.isNew = kept === null;
    this.#kept = kept ?? this.#write({ secret: newSecret(), wanted: 'live' });
    const place = [this.#kept.secret, hostname(), dir].join('\0');
    this.id = createHash('sha256').update(place).digest('base64url').slice(0, 22);
  }

  get wanted(): NodeRecord['wanted'] {
    return this.#kept.wanted;
  }

  /** @throws Error of the system when it cannot be kept */
  want(wanted: NodeRecord['wanted']): void {
    this.#kept = this.#write({ ...this.#kept, wanted });
  }

  #write(kept: Kept): Kept {
    writePrivateFile(this.path, `${JSON.stringify(kept)}\n`);
    return kept;
  }
}

function newSecret(): string {
  return randomBytes(16).toString('base64url');
}

/** @returns null when there is none, or nothing that can be read: then the node is a new one, and waits until its lease has run out. */
function read(path: string): Kept | null {
  try {
    const { secret, wanted } = JSON.parse(readFileSync(path, 'utf8')) as Kept;
    return typeof secret === 'string' && WANTED.includes(wanted) ? { secret, wanted } : null;
  } catch {
    return null;
  }
}
