// Runs in main. Owns the search of the data directory for tokens that `drover tokens create --data-dir` has left there
// (src/cli/commands/local-token.ts). File permissions are the authority: no client of the service can block this way in.

import { constants, type FSWatcher, type Stats, watch } from 'node:fs';
import { open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { explainSchemaError } from '../../shared/contract/explain.js';
import type { TokenFile } from '../../shared/contract/tokens.js';
import { messageOf } from '../../shared/errors.js';
import { validatorOf } from '../../shared/validators.js';

/** Pause between two searches, in ms, when the system reports no changes, or a file was refused that may be accepted later. */
const EVERY_MS = 1000;
/** The same when the system reports changes: another machine's in a shared directory are not among them. */
const WATCHED_EVERY_MS = 5000;
/** Largest file, in bytes: a token may name 1,000 bots. */
const MAX_BYTES = 256 * 1024;
/** Files of one search. The others follow with the next. */
const MAX_FILES = 100;
const NAME = /^new-token\.[0-9a-f-]{36}\.json$/;
const OTHERS_WRITE = 0o022;

/** The file of a token that waits to be accepted. */
export function tokenFileName(id: string): string {
  return `new-token.${id}.json`;
}

export class TokenFiles {
  readonly #dir: string;
  readonly #adopt: (token: TokenFile) => Promise<void>;
  readonly #report: (line: string) => void;
  /** Why a file was not accepted, by name: each reason is reported once. */
  #refused = new Map<string, string>();
  /** Files whose token was accepted and that could not be removed: a revoked token must not come back. */
  readonly #adopted = new Set<string>();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSearching = false;
  /** A file came during a search. */
  #hasMore = false;
  #isStopped = false;

  constructor(
    dir: string,
    adopt: (token: TokenFile) => Promise<void>,
    report: (line: string) => void,
  ) {
    this.#dir = dir;
    this.#adopt = adopt;
    this.#report = report;
  }

  /** Accepts the tokens that are there now. Never rejects. */
  async search(): Promise<void> {
    const refused = new Map<string, string>();
    for (const name of await this.#names()) {
      try {
        await this.#take(name);
      } catch (thrown) {
        // Tried again: the disk may have room later.
        const reason = messageOf(thrown);
        refused.set(name, reason);
        if (this.#refused.get(name) !== reason) {
          this.#report(`the token in ${join(this.#dir, name)} is not accepted: ${reason}`);
        }
      }
    }
    this.#refused = refused;
  }

  /** Accepts tokens as they come. */
  start(): void {
    this.#watch();
    this.#wait();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watcher?.close();
    clearTimeout(this.#timer);
  }

  #watch(): void {
    try {
      this.#watcher = watch(this.#dir, { persistent: false }, (_, name) => {
        if (name !== null && NAME.test(name)) void this.#searchNow();
      });
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // The system has no notifications, or no more of them.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #wait(): void {
    const isQuiet = this.#watcher !== undefined && this.#refused.size === 0;
    this.#timer = setTimeout(() => void this.#searchNow(), isQuiet ? WATCHED_EVERY_MS : EVERY_MS);
  }

  async #searchNow(): Promise<void> {
    this.#hasMore = true;
    if (this.#isSearching || this.#isStopped) return;
    this.#isSearching = true;
    clearTimeout(this.#timer);
    while (this.#hasMore) {
      this.#hasMore = false;
      await this.search();
    }
    this.#isSearching = false;
    if (!this.#isStopped) this.#wait();
  }

  async #names(): Promise<string[]> {
    const all = await readdir(this.#dir).catch(() => []);
    return all.filter((name) => NAME.test(name)).slice(0, MAX_FILES);
  }

  async #take(name: string): Promise<void> {
    const path = join(this.#dir, name);
    if (!this.#adopted.has(name)) {
      await this.#adopt(await readToken(this.#dir, name));
      this.#adopted.add(name);
    }
    await unlink(path);
    this.#adopted.delete(name);
  }
}

async function readToken(dir: string, name: string): Promise<TokenFile> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = await open(join(dir, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  let value: unknown;
  try {
    expectOwn(await file.stat());
    value = JSON.parse(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
  const validate = validatorOf('TokenFile');
  if (!validate(value)) throw new Error(explainSchemaError('', validate.errors));
  if (tokenFileName(value.id) !== name) throw new Error('its name and its id differ');
  return value;
}

/** Only the service's user and root create tokens, also in a directory that others can write to. */
function expectOwn(stats: Stats): void {
  if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error('it is not a file with a token');
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (stats.uid !== own && stats.uid !== 0) throw new Error('it belongs to another user');
  if ((stats.mode & OTHERS_WRITE) !== 0) throw new Error('other users can write to it');
}
