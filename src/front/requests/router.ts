import { DroverError } from '../../shared/errors.js';

/** A route's handlers by method. HEAD uses that of GET; the router answers OPTIONS. */
export type RouteMethods<H> = Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', H>>;

interface Route<H> {
  methods: RouteMethods<H>;
  /** Value of the Allow header. */
  allow: string;
}

interface PatternRoute<H> extends Route<H> {
  /** Segments that begin with `{` match anything. */
  segments: string[];
}

export type Match<H> =
  | { found: 'handler'; handler: H; parameters: readonly string[] }
  | { found: 'options'; allow: string }
  | { found: 'method_not_allowed'; allow: string }
  | { found: 'nothing' };

const NO_PARAMETERS: readonly string[] = [];

export class Router<H> {
  /** Paths without parameters: one lookup. */
  readonly #fixed = new Map<string, Route<H>>();
  readonly #patterns: PatternRoute<H>[] = [];

  add(path: string, methods: RouteMethods<H>): this {
    const names = Object.keys(methods);
    if (methods.GET) names.push('HEAD');
    const route = { methods, allow: [...names, 'OPTIONS'].join(', ') };
    if (path.includes('{')) this.#patterns.push({ ...route, segments: path.split('/') });
    else this.#fixed.set(path, route);
    return this;
  }

  match(method: string, path: string): Match<H> {
    const fixed = this.#fixed.get(path);
    if (fixed) return this.#choose(fixed, method, NO_PARAMETERS);
    const segments = path.split('/');
    for (const route of this.#patterns) {
      const parameters = matchSegments(route.segments, segments);
      if (parameters) return this.#choose(route, method, parameters);
    }
    return { found: 'nothing' };
  }

  #choose(route: Route<H>, method: string, parameters: readonly string[]): Match<H> {
    const { methods, allow } = route;
    if (method === 'OPTIONS') return { found: 'options', allow };
    const name = method === 'HEAD' ? 'GET' : method;
    const handler = Object.hasOwn(methods, name)
      ? methods[name as keyof typeof methods]
      : undefined;
    return handler
      ? { found: 'handler', handler, parameters }
      : { found: 'method_not_allowed', allow };
  }
}

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): string[] | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: string[] = [];
  for (const [at, wanted] of pattern.entries()) {
    const given = segments[at] as string;
    if (wanted.startsWith('{')) parameters.push(decode(given));
    else if (wanted !== given) return undefined;
  }
  return parameters;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new DroverError('bad_request', 'the path is not valid percent-encoding');
  }
}
