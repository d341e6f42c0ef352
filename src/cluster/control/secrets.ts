// Runs in main. Owns the keys of `cluster.secret_key_file`, and with them the values of secrets in the records of bots. The first key
// encrypts and signs; the others are accepted, so that a key can be replaced while the cluster runs.
//
// The whole configuration is encrypted, and the record shows what is not secret of it: an entry of a list may be secret, and could
// not be put back in its place. AES-256-GCM with a random nonce; the names of the cluster and of the bot are authenticated, so that
// what was sealed for one bot cannot be given to another.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { BotSpec } from '../../shared/contract/bots.js';
import type { JsonObject } from '../../shared/contract/json.js';
import { DroverError, messageOf, StartupError } from '../../shared/errors.js';
import type { SecretFields } from '../node-service.js';
import type { SignerKeys } from '../wire/signer.js';
import type { BotRecord, Sealing } from './parts.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What is sealed begins with the version of the format. */
const FORMAT = '1.';
const MAX_KEYS = 4;
const GROUP_AND_OTHERS = 0o077;
const SETTING = 'cluster.secret_key_file';

export interface SecretsOptions {
  cluster: string;
  /** Null: secrets stay on the node that was given them. */
  keyFile: string | null;
}

export class Secrets implements Sealing {
  readonly #cluster: string;
  readonly #keys: readonly Buffer[];
  readonly #schemas: SecretFields;

  /** @throws StartupError when the file cannot be read, or others can read it, or it holds no key. */
  constructor({ cluster, keyFile }: SecretsOptions, schemas: SecretFields) {
    this.#cluster = cluster;
    this.#keys = keyFile === null ? [] : readKeys(keyFile);
    this.#schemas = schemas;
  }

  /** Tells keys apart, and says nothing of them; null without a key. Nodes compare it. */
  get check(): string | null {
    return this.#checks()[0] ?? null;
  }

  /** Whether a check is that of one of the keys. */
  knows(check: unknown): boolean {
    return this.#checks().some((own) => own === check);
  }

  /** Other keys than those that encrypt: what one is used for tells nothing of the other. */
  signerKeys(acceptsUnsigned: boolean): SignerKeys {
    const info = `drover signatures of ${this.#cluster}`;
    const keys = this.#keys.map(
      (key) => new Uint8Array(hkdfSync('sha256', key, '', info, KEY_BYTES)),
    );
    return { keys, acceptsUnsigned };
  }

  failoverOf(spec: BotSpec): BotRecord['failover'] {
    const isBound = this.#keys.length === 0 && this.hasSecrets(spec.kind, spec.config);
    return isBound ? 'bound' : (spec.failover ?? 'restart');
  }

  seal({ term: _, ...spec }: BotSpec): Pick<BotRecord, 'spec' | 'sealed' | 'failover'> {
    const failover = this.failoverOf(spec);
    if (!this.hasSecrets(spec.kind, spec.config)) return { spec, sealed: null, failover };
    const shown = { ...spec, config: this.#schemas.withoutSecrets(spec.kind, spec.config) };
    const sealed = this.encrypt(bindingOf(spec.id), JSON.stringify(spec.config));
    return { spec: shown, sealed, failover };
  }

  open({ spec, sealed }: Pick<BotRecord, 'spec' | 'sealed'>): BotSpec {
    if (sealed === null) return spec;
    const text = this.decrypt(bindingOf(spec.id), sealed, `the secrets of bot ${spec.id}`);
    return { ...spec, config: JSON.parse(text) as JsonObject };
  }

  /** @param binding only with the same it can be decrypted. @returns null without a key. */
  encrypt(binding: string, text: string): string | null {
    const [key] = this.#keys;
    if (!key) return null;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(this.#authenticated(binding));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return FORMAT + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
  }

  /** @param what it is, for the error. @throws DroverError `unavailable`. */
  decrypt(binding: string, sealed: string, what: string): string {
    if (this.#keys.length === 0) {
      throw new DroverError(
        'unavailable',
        `${what} are encrypted, and this node has no ${SETTING}`,
      );
    }
    if (!sealed.startsWith(FORMAT)) {
      throw new DroverError('unavailable', `${what} are of a later version of Drover`);
    }
    const bytes = Buffer.from(sealed.slice(FORMAT.length), 'base64');
    const text = this.#keys.flatMap((key) => this.#decrypted(key, binding, bytes) ?? [])[0];
    if (text !== undefined) return text;
    throw new DroverError(
      'unavailable',
      `${what} cannot be decrypted: they were encrypted with another key than that of this node (${SETTING})`,
    );
  }

  /** Of an unknown kind everything is secret. */
  hasSecrets(kind: string, config: JsonObject): boolean {
    return !isDeepStrictEqual(this.#schemas.withoutSecrets(kind, config), config);
  }

  #checks(): string[] {
    const text = `drover key of ${this.#cluster}`;
    return this.#keys.map((key) => createHmac('sha256', key).update(text).digest('hex'));
  }

  /** Null with another key. */
  #decrypted(key: Buffer, binding: string, bytes: Buffer): string | null {
    const body = NONCE_BYTES + TAG_BYTES;
    const options = { authTagLength: TAG_BYTES };
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), options);
      decipher.setAAD(this.#authenticated(binding)).setAuthTag(bytes.subarray(NONCE_BYTES, body));
      const parts = [decipher.update(bytes.subarray(body)), decipher.final()];
      return Buffer.concat(parts).toString('utf8');
    } catch {
      return null;
    }
  }

  #authenticated(binding: string): Buffer {
    return Buffer.from(JSON.stringify([this.#cluster, binding]));
  }
}

function bindingOf(bot: string): string {
  return `bot ${bot}`;
}

function readKeys(path: string): Buffer[] {
  let text: string;
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & GROUP_AND_OTHERS) !== 0) {
      throw new StartupError(`${path} (${SETTING}) can be read by others: chmod 600 ${path}`);
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (thrown) {
    if (thrown instanceof StartupError) throw thrown;
    throw new StartupError(`the file of ${SETTING} cannot be read (${messageOf(thrown)})`);
  }
  const keys = text.split(/\s*\n\s*/).map(keyOf);
  if (keys.length > MAX_KEYS) {
    throw new StartupError(
      `${path} (${SETTING}) has ${keys.length} keys, and at most ${MAX_KEYS} are read`,
    );
  }
  if (keys.every((key) => key !== null)) return keys;
  throw new StartupError(
    `${path} (${SETTING}) is not a key: ${KEY_BYTES} bytes in hex or base64, as openssl rand -hex ${KEY_BYTES} makes them`,
  );
}

function keyOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const key = Buffer.from(text, 'base64');
  return /^[A-Za-z0-9+/]{43}=?$/.test(text) && key.length === KEY_BYTES ? key : null;
}
