// Runs in main. Owns who may do what and how much there may be, as a whole: puts its parts together, and says which of
// them answers which call of a front.

import type { Config } from '../../shared/contract/config.js';
import type { Shortage } from '../../shared/contract/pressure.js';
import type { Serves } from '../../shared/contract/rpc.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import type { Dispatcher } from '../bots/dispatcher.js';
import type { KindModules } from '../bots/kind-modules.js';
import type { KindSchemas } from '../bots/kind-schemas.js';
import type { BotRegistry } from '../bots/registry.js';
import type { TokenStore } from '../store/token-store.js';
import { writeAccessLog } from './access-output.js';
import { BotAccess } from './bot-access.js';
import { Pressure, type PressureSources } from './pressure-gauge.js';
import { type Say, SecurityEvents } from './security-events.js';
import { TicketBook } from './tickets.js';
import { type TokenHolders, TokenRegistry } from './token-registry.js';

/** The fronts, as far as they are told of changes here. */
export interface AccessFronts extends TokenHolders {
  tellPressure(shortage: Shortage | null): void;
}

export interface AccessParts {
  config: Config;
  tokens: TokenStore;
  /** Puts a line on the stream. */
  say: Say;
  sources: PressureSources;
  /** They are made after this. */
  fronts: () => AccessFronts;
}

export class Access {
  readonly #tokens: TokenRegistry;
  readonly #tickets = new TicketBook();
  readonly #security: SecurityEvents;
  readonly #pressure: Pressure;

  constructor({ config, tokens, say, sources, fronts }: AccessParts) {
    this.#security = new SecurityEvents(say);
    this.#tokens = new TokenRegistry(tokens, fronts, this.#security);
    this.#pressure = new Pressure(config, sources, (shortage) => fronts().tellPressure(shortage));
  }

  /** To be called when the fronts are there. */
  start(): void {
    this.#tokens.start();
    this.#pressure.start();
  }

  /** The end begins: no more lines of its own, nothing more is measured. */
  beginStop(): void {
    this.#pressure.stop();
    this.#security.stop();
  }

  /** To be called when the fronts are gone; what they told last is on disk when this resolves. */
  stop(): Promise<void> {
    return this.#tokens.stop();
  }

  /** What a front begins with. */
  tokens(): TokenRecord[] {
    return this.#tokens.all();
  }

  /** What main does for the fronts. */
  control(
    registry: BotRegistry,
    dispatcher: Dispatcher,
    schemas: KindSchemas,
    kinds: KindModules,
  ): Omit<Serves<ControlMethods>, 'failed' | 'figures'> {
    const bots = new BotAccess(registry, dispatcher, this.#pressure);
    return {
      createPinToken: async ({ address }) => ({
        token: await this.#tokens.createForPin(address),
      }),
      pinRefused: ({ address, lockedForS }) => this.#security.wrongPin(address, lockedForS),
      createToken: ({ body, by }) => this.#tokens.create(body, by),
      tokens: () => ({ tokens: this.#tokens.list() }),
      revokeToken: ({ id, by }) => this.#tokens.revoke(id, by),
      tokensUsed: ({ uses }) => this.#tokens.used(uses),
      createTicket: ({ token }) => this.#tickets.create(token),
      redeemTicket: ({ ticket }) => ({ token: this.#tickets.redeem(ticket) }),
      logAccess: ({ text }) => writeAccessLog(text),
      pressure: () => this.#pressure.report(),
      createBot: (input) => bots.create(input),
      updateBot: (input) => bots.update(input),
      actOnBot: (input) => bots.act(input),
      actOnBots: (input) => bots.actOnMany(input),
      botConfig: (input) => bots.config(input),
      incidents: (input) => bots.incidents(input),
      invoke: (input, gone) => bots.invoke(input, gone),
      kinds: () => ({ kinds: schemas.infos(), failed: kinds.failed }),
    };
  }
}
