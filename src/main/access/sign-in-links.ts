// Runs in main. Owns the sign-in links: each gives one token, once, as long as the token that made the link is valid.

import type {
  CreateTokenBody,
  LinkOffer,
  SignInLink,
  TakenLink,
} from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { type KnownCode, OneTimeCodes } from './one-time-codes.js';
import type { SecurityEvents } from './security-events.js';
import { tokenSpec } from './token-spec.js';

/** How long a link is valid, in ms: time to send it to somebody who waits for it. */
export const LINK_MS = 600_000;
const MAX_LINKS = 1000;
const MAX_LINKS_PER_TOKEN = 100;

/** The tokens that make links. */
export interface LinkMakers {
  /** Undefined when the token is no longer valid. */
  nameOf(id: string): string | undefined;
}

export class SignInLinks {
  readonly #codes: OneTimeCodes<TakenLink>;
  readonly #makers: LinkMakers;
  readonly #events: Pick<SecurityEvents, 'linkCreated'>;

  /** @param now Unix epoch milliseconds. */
  constructor(
    makers: LinkMakers,
    events: Pick<SecurityEvents, 'linkCreated'>,
    now: () => number = Date.now,
  ) {
    this.#makers = makers;
    this.#events = events;
    const bounds = { validMs: LINK_MS, max: MAX_LINKS, maxPerToken: MAX_LINKS_PER_TOKEN };
    this.#codes = new OneTimeCodes({ ...bounds, plural: 'sign-in links' }, now);
  }

  /**
   * @param by id of the caller's token.
   * @throws DroverError `bad_request` for an invalid combination; `invalid_token`; as {@link OneTimeCodes.create}.
   */
  create(body: CreateTokenBody, by: string): SignInLink {
    tokenSpec(body);
    const name = this.#makers.nameOf(by);
    if (name === undefined) throw new DroverError('invalid_token');
    const { code, expiresAt } = this.#codes.create(by, { body, maker: { id: by, name } });
    this.#events.linkCreated(body.scopes.join(', '), `token ${JSON.stringify(name)} (${by})`);
    return { link: code, expires_at_ms: expiresAt };
  }

  /** What a link gives; it stays valid. @throws DroverError `invalid_link`. */
  check(link: string): LinkOffer {
    const known = this.#expectValid(this.#codes.find(link));
    const { body, maker } = known.content;
    const { name, scopes, bots = null, labels = null, expires_at_ms = null } = body;
    const offer = { name, scopes, bots, labels, expires_at_ms };
    return { created_by: maker.name, link_expires_at_ms: known.expiresAt, ...offer };
  }

  /** Uses a link up. @throws DroverError `invalid_link`. */
  take(link: string): TakenLink {
    return this.#expectValid(this.#codes.take(link)).content;
  }

  #expectValid(known: KnownCode<TakenLink> | undefined): KnownCode<TakenLink> {
    if (!known || this.#makers.nameOf(known.token) === undefined) {
      throw new DroverError('invalid_link');
    }
    return known;
  }
}
