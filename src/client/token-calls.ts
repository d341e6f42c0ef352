import type { CreateTokenBody, SignInLink, TokenInfo } from '../shared/contract/tokens.js';
import type { CallOptions, Http } from './http.js';
import { TOKEN } from './response-shapes.js';

/** A new token; its secret cannot be read again. */
export type NewToken = TokenInfo & { token: string };

/** The address that opens the dashboard with a sign-in link. The fragment is sent to no server. @param url of the service. */
export function signInUrl(url: string, { link }: Pick<SignInLink, 'link'>): string {
  return `${url}/#sign-in=${link}`;
}

/** Calls about tokens. */
export class TokenCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async list(options?: CallOptions): Promise<TokenInfo[]> {
    return this.#http.field('GET /api/tokens', [], 'tokens', [TOKEN], { ...options });
  }

  async create(token: CreateTokenBody, options?: CallOptions): Promise<NewToken> {
    return this.#http.json('POST /api/tokens', [], {
      ...options,
      body: token,
      shape: { ...TOKEN, token: 'string' },
    });
  }

  /** `POST /api/tokens/link`: a link that gives somebody such a token, once, within 10 minutes. {@link signInUrl} is its address. */
  async createLink(token: CreateTokenBody, options?: CallOptions): Promise<SignInLink> {
    return this.#http.json('POST /api/tokens/link', [], {
      ...options,
      body: token,
      shape: { link: 'string', expires_at_ms: 'number' },
    });
  }

  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE /api/tokens/{id}', [id], options);
  }

  /** `GET /api/tokens/current`: this client's token: who it is, and what it may do. Needs no scope. */
  async current(options?: CallOptions): Promise<TokenInfo> {
    return this.#http.json('GET /api/tokens/current', [], { ...options, shape: TOKEN });
  }

  /** `DELETE /api/tokens/current`: revokes this client's token. Needs no scope. */
  async revokeCurrent(options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE /api/tokens/current', [], options);
  }
}
