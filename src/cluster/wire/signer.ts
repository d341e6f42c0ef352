// In main and in the bus thread. What nodes say and store over NATS is signed with a key that is derived from that of
// `cluster.secret_key_file`: who has access to NATS and no more forges nothing.
//
// The signature is the first field of the JSON, so that a release that does not know it ignores it:
//
//   {"mac":"<stamp>.<43 characters of base64url>", and on as the text would be without it
//
// It covers what the text is for (its context: the call of which node, the record of which key), the stamp, and the text byte by byte.
// The stamp is what tells one use of the same text from another: the time at which a call was sent, the revision that a record replaces.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { DroverError } from '../../shared/errors.js';

/** For the bus thread, which does not read the file. */
export interface SignerKeys {
  /** The first signs, all are accepted. None: nothing is signed, and no signature is looked at. */
  keys: readonly Uint8Array[];
  /** `cluster.accept_unsigned` */
  acceptsUnsigned: boolean;
}

/** What a text is for: only in the same context its signature is one. */
export type Context = readonly string[];

/** A text without its signature. */
export interface Opened {
  text: string;
  /** Null when nobody knows it: there is no key, or what is not signed is accepted. */
  stamp: number | null;
  /** Signed with the first key; always without a key. */
  isCurrent: boolean;
}

const HEAD = /^\{"mac":"(\d{1,16})\.([A-Za-z0-9_-]{43})",/;
/** Longest beginning that {@link HEAD} matches. */
const HEAD_LENGTH = 80;

export const NO_SIGNATURE =
  'it is not signed with the key of the cluster (cluster.secret_key_file)';
export const WRONG_SIGNATURE =
  'its signature is of another key than that of this node (cluster.secret_key_file), or it was changed on the way';

export class Signer {
  /** Without a key. */
  static readonly NONE = new Signer({ keys: [], acceptsUnsigned: false });

  readonly #keys: readonly Uint8Array[];
  readonly #acceptsUnsigned: boolean;

  constructor({ keys, acceptsUnsigned }: SignerKeys) {
    this.#keys = keys;
    this.#acceptsUnsigned = acceptsUnsigned;
  }

  /** Whether only what is signed is accepted. */
  get isStrict(): boolean {
    return this.#keys.length > 0 && !this.#acceptsUnsigned;
  }

  /** @param text JSON of an object with a field. @param rest bytes that belong to it. */
  sign(context: Context, stamp: number, text: string, ...rest: readonly Uint8Array[]): string {
    const [key] = this.#keys;
    if (!key) return text;
    const mac = macOf(key, context, stamp, text, rest).toString('base64url');
    return `{"mac":"${stamp}.${mac}",${text.slice(1)}`;
  }

  /** @throws DroverError `unavailable` that says why it is not accepted. */
  open(context: Context, signed: string, ...rest: readonly Uint8Array[]): Opened {
    const [head, stampText = '', mac = ''] = HEAD.exec(signed.slice(0, HEAD_LENGTH)) ?? [];
    const text = head === undefined ? signed : `{${signed.slice(head.length)}`;
    const stamp = Number(stampText);
    const found =
      head !== undefined && Number.isSafeInteger(stamp) ? Buffer.from(mac, 'base64url') : null;
    const at = found
      ? this.#keys.findIndex((key) =>
          timingSafeEqual(macOf(key, context, stamp, text, rest), found),
        )
      : -1;
    if (at >= 0) return { text, stamp, isCurrent: at === 0 };
    if (this.isStrict) throw new DroverError('unavailable', found ? WRONG_SIGNATURE : NO_SIGNATURE);
    return { text, stamp: null, isCurrent: this.#keys.length === 0 };
  }
}

function macOf(
  key: Uint8Array,
  context: Context,
  stamp: number,
  text: string,
  rest: readonly Uint8Array[],
): Buffer {
  const hmac = createHmac('sha256', key);
  // Where each part ends is signed too.
  hmac.update(`${JSON.stringify(context)}\n${stamp} ${Buffer.byteLength(text)}\n${text}`);
  for (const bytes of rest) hmac.update(bytes);
  return hmac.digest();
}
