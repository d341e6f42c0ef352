// Runs in main. Owns tokens, tickets, sign-in links, security events and the pressure gauge, and starts and stops them together.

import type { TokenSharing } from '../../cluster/node-service.js';
import type { Config } from '../../shared/contract/config.js';
import type { Shortage } from '../../shared/contract/pressure.js';
import { AUTH_SCOPE } from '../../shared/contract/scopes.js';
import type { TokenStore } from '../store/token-store.js';
import { PressureGauge, type PressureSources } from './pressure-gauge.js';
import { type Say, SecurityEvents } from './security-events.js';
import { SignInLinks } from './sign-in-links.js';
import { TicketBook } from './tickets.js';
import { TokenFiles } from './token-files.js';
import { type TokenHolders, TokenRegistry } from './token-registry.js';

/** The fronts, which get each change. */
export interface AccessFronts extends TokenHolders {
  tellPressure(shortage: Shortage | null): void;
}

export interface AccessParts {
  config: Config;
  tokens: TokenStore;
  /** Puts a line on the stream. */
  say: Say;
  /** Writes a warning to standard error. */
  warn: (message: string) => void;
  dataDir: string;
  sharing: TokenSharing;
  sources: PressureSources;
  fronts: AccessFronts;
}

export class Access {
  readonly tokens: TokenRegistry;
  readonly tickets = new TicketBook();
  readonly links: SignInLinks;
  readonly security: SecurityEvents;
  readonly pressure: PressureGauge;
  readonly #files: TokenFiles;

  constructor({ config, tokens, say, warn, dataDir, sharing, sources, fronts }: AccessParts) {
    this.security = new SecurityEvents(say, warn);
    this.tokens = new TokenRegistry(tokens, fronts, this.security, {
      ...config.auth,
      sharing,
    });
    this.links = new SignInLinks(this.tokens, this.security);
    this.#files = new TokenFiles(
      dataDir,
      (token) => this.tokens.adopt(token),
      (line) => {
        say('warn', AUTH_SCOPE, line);
        warn(line);
      },
    );
    this.pressure = new PressureGauge(config, sources, (shortage) => fronts.tellPressure(shortage));
  }

  /** Accepts the tokens that were created on this machine until now. Never rejects. */
  adoptTokens(): Promise<void> {
    return this.#files.search();
  }

  /** To be called when the first front listens. */
  start(): void {
    this.#files.start();
    this.tokens.start();
    this.pressure.start();
  }

  /** To be called when the service shuts down: no more lines are written, nothing more is measured. */
  beginStop(): void {
    this.pressure.stop();
    this.security.stop();
    this.#files.stop();
  }

  /** To be called when the fronts have ended. What they reported last is on disk when this resolves. */
  stop(): Promise<void> {
    return this.tokens.stop();
  }
}
