// Runs in main. Owns tokens, tickets, security events and the pressure gauge, and starts and stops them together.

import type { Config } from '../../shared/contract/config.js';
import type { Shortage } from '../../shared/contract/pressure.js';
import type { TokenStore } from '../store/token-store.js';
import { PressureGauge, type PressureSources } from './pressure-gauge.js';
import { type Say, SecurityEvents } from './security-events.js';
import { TicketBook } from './tickets.js';
import { type TokenHolders, TokenRegistry } from './token-registry.js';

/** What changes here are sent to. */
export interface AccessFronts extends TokenHolders {
  tellPressure(shortage: Shortage | null): void;
}

export interface AccessParts {
  config: Config;
  tokens: TokenStore;
  /** Puts a line on the stream. */
  say: Say;
  sources: PressureSources;
  /** Created after this. */
  fronts: () => AccessFronts;
}

export class Access {
  readonly tokens: TokenRegistry;
  readonly tickets = new TicketBook();
  readonly security: SecurityEvents;
  readonly pressure: PressureGauge;

  constructor({ config, tokens, say, sources, fronts }: AccessParts) {
    this.security = new SecurityEvents(say);
    this.tokens = new TokenRegistry(tokens, fronts, this.security);
    this.pressure = new PressureGauge(config, sources, (shortage) =>
      fronts().tellPressure(shortage),
    );
  }

  /** To be called when the fronts listen. */
  start(): void {
    this.tokens.start();
    this.pressure.start();
  }

  /** The service shuts down: writes no more lines, measures nothing more. */
  beginStop(): void {
    this.pressure.stop();
    this.security.stop();
  }

  /** To be called when the fronts have ended. What they reported last is on disk when this resolves. */
  stop(): Promise<void> {
    return this.tokens.stop();
  }
}
