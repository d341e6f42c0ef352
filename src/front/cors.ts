// Pure; used by the fronts. Owns which pages of other origins may read the answers: those of a list, none by default.
// There are no cookies, so nothing is ever sent by a browser on its own account: `Access-Control-Allow-Credentials` is not
// needed.

/** How long a browser may remember the answer to a preflight, in seconds. */
const MAX_AGE_S = 600;
const VARY = ['Vary', 'Origin'] as const;
const EXPOSED = 'Allow, Retry-After, WWW-Authenticate';
/** What a page may send beyond what every page may. */
const REQUEST_HEADERS = 'Authorization, Content-Type, Last-Event-ID';

export class Cors {
  /** Headers by origin. */
  readonly #allowed: ReadonlyMap<string, readonly string[]>;

  /** @param origins as browsers send them; `null` is one of them, and is what sandboxed frames and local files send. */
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

  /** Headers of every answer to a page of this origin; '' is a caller that is no page. */
  headersFor(origin: string): readonly string[] {
    // Also without an origin: a cache must not give one page's answer to another.
    return this.#allowed.get(origin) ?? VARY;
  }

  /** More headers of the answer to OPTIONS. @param allow the route's Allow header. */
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
