// Runs in main. Owns the search of the data directory for tokens that `drover tokens create --data-dir` has left there
// (src/cli/commands/local-token.ts). File permissions are the authority: docs/decisions/0041.

import { constants, type Stats } from 'node:fs';
import { open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { explainSchemaError } from '../../shared/contract/explain.js';
import type { TokenFile } from '../../shared/contract/tokens.js';
import { messageOf } from '../../shared/errors.js';
import { validatorOf } from '../../shared/validators.js';

const EVERY_MS = 1000;
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
  #timer: NodeJS.Timeout | undefined;
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

  /** Searches every second. */
  start(): void {
    this.#timer = setTimeout(async () => {
      await this.search();
      if (!this.#isStopped) this.start();
    }, EVERY_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
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
