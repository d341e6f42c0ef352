import { HEARTBEAT_HEADER } from '../../shared/contract/heartbeat-header.js';

/** How long a browser may cache the response to a preflight, in s. */
const MAX_AGE_S = 600;
const VARY = ['Vary', 'Origin'] as const;
const EXPOSED = `Allow, ${HEARTBEAT_HEADER}, Retry-After, WWW-Authenticate`;
/** Allowed beyond the headers that need no permission. */
const REQUEST_HEADERS = 'Authorization, Content-Type, Last-Event-ID';

/**
 * Which origins may read responses: those of a list, none by default. There are no cookies, so
 * `Access-Control-Allow-Credentials` is not needed.
 */
export class Cors {
  /** Headers by origin. */
  readonly #allowed: ReadonlyMap<string, readonly string[]>;

  /** @param origins as browsers send them, including `null` of sandboxed frames and local files. */
  constructor(origins: readonly string[]) {
    this.#allowed = new Map(
      origins.map((origin) => [
        origin,
        [...VARY, 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED],
      ]),
    );
  }

  get isOn(): boolean {
    return this.#allowed.size > 0;
  }

  /** Headers of every response to this origin; '' is a client that is not a page. */
  headersFor(origin: string): readonly string[] {
    // Sends `Vary` even without an origin, because a cache must not serve one origin's response to another.
    return this.#allowed.get(origin) ?? VARY;
  }

  /** Additional headers of the response to OPTIONS. @param allow the route's Allow header. */
  preflight(origin: string, allow: string): readonly string[] {
    if (!this.#allowed.has(origin)) return [];
    return [
      'Access-Control-Allow-Methods',
      allow,
      'Access-Control-Allow-Headers',
      REQUEST_HEADERS,
      'Access-Control-Max-Age',
      String(MAX_AGE_S),
    ];
  }
}
