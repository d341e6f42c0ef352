// Runs in main. Owns this node's part in the tokens of the cluster: it tells the others which it makes, and which are revoked. Tokens of
// other nodes are in memory only, so that a node that was away accepts none before it knows which were revoked.

import { NOT_JOINED } from '../../shared/contract/node-name.js';
import type { TokenRecord, TokenUse } from '../../shared/contract/tokens.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { NO_TOKEN_SHARING } from '../cluster.js';
import type { NodeTokens, TokenSharing } from '../node-service.js';
import type { Calls } from '../wire/calls.js';
import { PROTOCOL } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import type { CallsToMembers } from './node-calls.js';
import { Revocations } from './revocations.js';
import {
  readToken,
  type SharedToken,
  TokensBucket,
  type TokensBucketOptions,
} from './tokens-bucket.js';

/** How long the other nodes have to confirm a revocation or a new token, in ms. */
const CONFIRM_MS = 5000;
/** How long a new token waits for the bucket to be read for the first time, in ms. */
const LOAD_MS = 2000;
/** Wait before what others did not confirm, or NATS did not accept, is tried again, in ms. */
const RETRY_MS = 1000;
const RETRY_AFTER_S = 1;
/** How often the other nodes are told when tokens were used, in ms. */
const USES_MS = 60_000;
/**
 * How late the last use of a token in the bucket may be, in ms: there is no write for each use. A sign-in of another node expires
 * that much later (src/main/access/token-registry.ts).
 */
const LATE_USE_MS = 12 * 3_600_000;

export interface TokenSyncOptions
  extends Pick<
    TokensBucketOptions,
    'bucket' | 'replicas' | 'signer' | 'keyCheck' | 'knowsKey' | 'say'
  > {
  /** Name of this node. */
  node: string;
  /** Identity of this node: its name may have been that of another. */
  identity: string;
  dataDir: string;
  registry: NodeTokens;
  calls: Calls;
  others: Pick<CallsToMembers, 'others' | 'call'>;
}

/** Until the node has joined. */
export const NOT_SHARED_YET: TokenSharing = {
  ...NO_TOKEN_SHARING,
  isCurrent: false,
  async admit() {
    const why = `the cluster does not accept the token: ${NOT_JOINED}`;
    throw new DroverError('unavailable', why, RETRY_AFTER_S);
  },
};

/**
 * To be made when the node holds its lease: of tokens that the bucket has from this node, it removes those that it does not know. Not those of an
 * earlier node with its name, or with another disk: these are valid, and in memory only, as those of other nodes.
 */
export class TokenSync implements TokenSharing {
  readonly #options: TokenSyncOptions;
  readonly #bucket: TokensBucket;
  readonly #revocations: Revocations;
  /** Revocations that others are asked to confirm now. */
  readonly #spreading = new Map<string, Promise<void>>();
  /** One thing at a time for each token. */
  readonly #turns = new Map<string, Promise<void>>();
  /** Last uses that the others do not know. Bounded by the number of tokens. */
  #uses = new Map<string, TokenUse>();
  /** Last uses that are to be kept in the bucket. Bounded by the number of tokens. */
  readonly #late = new Map<string, TokenUse>();
  /** Tokens that are revoked and for which the bucket has something else than their removal. Bounded by the revocations. */
  readonly #revived = new Set<string>();
  readonly #firstLoad = new Deferred();
  readonly #teller: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(nats: NatsConnection, options: TokenSyncOptions) {
    this.#options = options;
    const { dataDir, say, registry, calls } = options;
    this.#revocations = new Revocations(dataDir, (line) => say('error', line));
    this.#bucket = new TokensBucket(nats, {
      ...options,
      loaded: (tokens) => {
        this.#firstLoad.resolve();
        void this.#loaded(tokens);
      },
      changed: (id, token) => void this.#apply(id, token),
      spoiled: (id) => {
        if (this.#revocations.isDead(id)) this.#revived.add(id);
        this.#retryLater();
      },
    });
    registry.share(this);
    calls.serve({
      revokeToken: ({ id }: { id: string }) => this.#revokedElsewhere(id),
      learnToken: ({ id, token }: { id: string; token: unknown }) =>
        this.#apply(id, readToken(id, token)),
      tokensUsed: ({ uses }: { uses: Record<string, TokenUse> }) => registry.usedElsewhere(uses),
    });
    this.#teller = setInterval(() => {
      this.#tellUses();
      void this.#keepUses();
    }, USES_MS).unref();
  }

  /** Why tokens are not those of the cluster at present; null when they are. */
  get fault(): string | null {
    return this.#bucket.fault;
  }

  /** Why this node cannot read the secrets of the others; null when it can, as far as is known. */
  get keyFault(): string | null {
    return this.#bucket.keyFault;
  }

  get bucket(): TokensBucket['bucket'] {
    return this.#bucket.bucket;
  }

  /** @throws Error when the others do not have the key of this node: then it is in no cluster with them. */
  async expectKey(): Promise<void> {
    await withTimeout(this.#firstLoad.promise, LOAD_MS, () => {});
    if (this.keyFault !== null) throw new Error(this.keyFault);
  }

  /**
   * When this resolves no live node accepts the token. This one does not when it rejects, too.
   * @param by id of the caller's token. @throws DroverError `not_found`; `unavailable` with the nodes that have not confirmed it, which are
   *   asked again until they have; as {@link TokenRegistry.revoke}.
   */
  async revoke(id: string, by: string): Promise<void> {
    const { registry } = this.#options;
    // Asked again: this node has done its part.
    if (registry.has(id) || !this.#revocations.isOpen(id)) await registry.revoke(id, by);
    await (this.#spreading.get(id) ?? (this.#revocations.isOpen(id) && this.#spread(id)));
  }

  async admit(): Promise<void> {
    await withTimeout(this.#firstLoad.promise, LOAD_MS, () => {});
    const { fault } = this.#bucket;
    if (fault !== null) throw notAccepted(fault);
  }

  async added(record: TokenRecord): Promise<void> {
    const { id } = record;
    if (!(await this.#publish(record))) {
      throw notAccepted(this.#bucket.fault ?? 'NATS did not store it in time');
    }
    // A node that does not answer in time learns it from the bucket.
    const { others } = this.#options;
    await this.#unconfirmedBy(others.others(), 'learnToken', { id, token: this.#shared(record) });
  }

  /** Also when it has expired, or was replaced. */
  removed(id: string): void {
    try {
      this.#revocations.begin(id);
    } catch (thrown) {
      const why = messageOf(thrown);
      this.#options.say(
        'error',
        `a revocation is not on the disk, and lost if this node restarts: ${why}`,
      );
    }
    this.#spread(id).catch(() => {});
  }

  used(id: string, use: TokenUse): void {
    this.#uses.set(id, use);
    if ((this.#bucket.lagOf(id, use) ?? 0) >= LATE_USE_MS) this.#late.set(id, use);
  }

  get isCurrent(): boolean {
    return this.#bucket.fault === null;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#teller);
    clearTimeout(this.#retry);
    this.#revocations.close();
    this.#bucket.close();
  }

  /** The bucket is current. What was removed comes first. */
  async #loaded(tokens: ReadonlyMap<string, SharedToken | null>): Promise<void> {
    // Before the first wait: an own token that was used elsewhere must not expire.
    for (const [id, token] of tokens) if (token?.use) this.#usedElsewhere(id, token.use);
    const gone = [...tokens].filter(([, token]) => token === null);
    await Promise.all(gone.map(([id]) => this.#apply(id, null)));
    await Promise.all([...tokens].map(([id, token]) => token && this.#apply(id, token)));
    await this.#catchUp();
  }

  /** What the bucket says of a token. Never rejects. */
  async #apply(id: string, token: SharedToken | null): Promise<void> {
    const { registry, node, identity, say } = this.#options;
    // What was read before this may still be applied.
    if (token === null) this.#revocations.markDead(id);
    const isDead = this.#revocations.isDead(id);
    if (token !== null && isDead) {
      this.#revived.add(id);
      this.#retryLater();
    }
    try {
      if (token === null || isDead) await this.#forget(id);
      else if (token.node === node && registry.has(id)) {
        this.#usedElsewhere(id, token.use);
        const own = registry.ownRecord(id);
        if (own && token.node_id !== identity) await this.#publish(own);
      }
      // It has expired, or was revoked, while this node could not tell.
      else if (token.node === node && token.node_id === identity) this.removed(id);
      else await this.#inTurn(id, () => this.#learn(token));
    } catch (thrown) {
      say('error', `token ${id} is not the same on all fronts of this node: ${messageOf(thrown)}`);
    }
  }

  async #learn({ record, use }: SharedToken): Promise<void> {
    if (!this.#revocations.isDead(record.id)) await this.#options.registry.learn(record, use);
  }

  #usedElsewhere(id: string, use: TokenUse | null): void {
    if (use) this.#options.registry.usedElsewhere({ [id]: use });
  }

  async #revokedElsewhere(id: string): Promise<void> {
    this.#revocations.markDead(id);
    await this.#forget(id);
  }

  /** @throws Error when a front may still accept it. */
  async #forget(id: string): Promise<void> {
    await this.#inTurn(id, async () => {
      try {
        await this.#options.registry.forget(id);
      } catch (thrown) {
        // The registry removes it from the disk later, and after a restart the bucket says that it is gone.
        if (!(thrown instanceof DroverError) || thrown.code !== 'not_stored') throw thrown;
      }
    });
  }

  #inTurn(id: string, task: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(task);
    const settled = turn.catch(() => {});
    this.#turns.set(id, settled);
    void settled.then(() => {
      if (this.#turns.get(id) === settled) this.#turns.delete(id);
    });
    return turn;
  }

  #shared(record: TokenRecord): SharedToken {
    const { node, identity, registry } = this.#options;
    return { v: PROTOCOL, node, node_id: identity, record, use: registry.lastUse(record.id) };
  }

  /** @returns whether the bucket has it. Never rejects: it is tried again later. */
  async #publish(record: TokenRecord): Promise<boolean> {
    const { id } = record;
    // While NATS is away: when it is back.
    if (this.#bucket.fault !== null) return false;
    try {
      await this.#bucket.put(id, this.#shared(record));
      // It was revoked meanwhile, and this may have put it back.
      if (this.#revocations.isDead(id)) await this.#bucket.remove(id);
      return true;
    } catch {
      this.#retryLater();
      return false;
    }
  }

  /** Has the bucket and every live node forget a token. @throws DroverError `unavailable`. */
  #spread(id: string): Promise<void> {
    const running = this.#spreading.get(id);
    if (running) return running;
    const spread = this.#askAll(id).then((missing) => {
      this.#spreading.delete(id);
      if (missing !== null) {
        this.#retryLater();
        throw unconfirmed(missing);
      }
      this.#revocations.confirmed(id);
    });
    this.#spreading.set(id, spread);
    return spread;
  }

  /** @returns null when all have confirmed it, else the nodes that have not; none of them when it is NATS. Never rejects. */
  async #askAll(id: string): Promise<string[] | null> {
    const { others } = this.#options;
    const nodes = others.others();
    const removal = withTimeout(this.#bucket.remove(id), CONFIRM_MS, () => {
      throw new Error('no answer');
    });
    const [stored, missing] = await Promise.all([
      removal.then(() => true).catch(() => false),
      this.#unconfirmedBy(nodes, 'revokeToken', { id }),
    ]);
    if (missing.length > 0 || !stored) return missing;
    // Those that have joined meanwhile may have read the bucket before.
    const joined = others.others().filter((node) => !nodes.includes(node));
    const late = await this.#unconfirmedBy(joined, 'revokeToken', { id });
    return late.length > 0 ? late : null;
  }

  /** @returns those of the nodes that have not done it. Never rejects. */
  async #unconfirmedBy(
    nodes: readonly string[],
    method: 'revokeToken' | 'learnToken',
    input: object,
  ): Promise<string[]> {
    const { others } = this.#options;
    const asked = nodes.map((node) => others.call(node, method, input, CONFIRM_MS));
    const outcomes = await Promise.allSettled(asked);
    return nodes.filter((_, n) => outcomes[n]?.status === 'rejected');
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      void this.#catchUp();
    }, RETRY_MS);
  }

  /** What the bucket does not have, and what was not confirmed. Never rejects. */
  async #catchUp(): Promise<void> {
    for (const id of this.#revived) this.removed(id);
    this.#revived.clear();
    const open = this.#revocations.all();
    const { registry, others } = this.#options;
    const missing = registry.own().filter(({ id }) => !this.#bucket.has(id));
    // The nodes that have made the others publish them, if they are there.
    const homes = new Set(others.others());
    const orphans = this.#bucket
      .missing()
      .filter(({ node, record: { id } }) => !homes.has(node) && !registry.ownRecord(id))
      .filter(({ record: { id } }) => registry.has(id));
    await Promise.allSettled([
      ...missing.map((record) => this.#publish(record)),
      ...orphans.map((token) => this.#restore(token)),
      ...open.map((id) => this.#spread(id)),
    ]);
  }

  /** Never rejects. */
  async #restore(token: SharedToken): Promise<void> {
    // When it is current again it is looked at again.
    if (this.#bucket.fault !== null) return;
    await this.#bucket.restore(token).catch(() => this.#retryLater());
  }

  /** Never rejects: what fails is tried again the next time. */
  async #keepUses(): Promise<void> {
    if (!this.isCurrent) return;
    for (const [id, use] of this.#late) {
      try {
        await this.#bucket.putUse(id, use);
        if (this.#late.get(id) === use) this.#late.delete(id);
      } catch {
        return;
      }
    }
  }

  #tellUses(): void {
    const { others } = this.#options;
    if (this.#uses.size === 0) return;
    const uses = Object.fromEntries(this.#uses);
    this.#uses = new Map();
    for (const node of others.others()) {
      // The next use is news again.
      others.call(node, 'tokensUsed', { uses }, CONFIRM_MS).catch(() => {});
    }
  }
}

function notAccepted(reason: string): DroverError {
  return new DroverError('unavailable', `the cluster does not accept the token: ${reason}`, 1);
}

function unconfirmed(nodes: readonly string[]): DroverError {
  const named = `the ${nodes.length === 1 ? 'node' : 'nodes'} ${nodes.join(', ')}`;
  const who = `${nodes.length === 0 ? 'NATS' : named} ${nodes.length > 1 ? 'have' : 'has'} not`;
  return new DroverError(
    'unavailable',
    `the token is revoked, but ${who} confirmed it yet: that is tried again until it is`,
    RETRY_MS / 1000,
  );
}
