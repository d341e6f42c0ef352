// Runs in tabs. Owns the address, `#/<view>/<part>?<query>`: everything worth a link is in it.

import { signal } from '@preact/signals';

export interface Route {
  view: string;
  /** The part after the view: the id of a bot. */
  part: string;
  query: URLSearchParams;
}

/** Former views, and the views that replace them. */
const MOVED: Readonly<Record<string, string>> = { incidents: 'problems', alerts: 'problems' };

export const route = signal<Route>(parse(location.hash));

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [view = '', ...rest] = path.split('/');
  return {
    view: (Object.hasOwn(MOVED, view) ? MOVED[view] : view) || 'overview',
    part: decode(rest.join('/')),
    query: new URLSearchParams(query),
  };
}

/** The parameters of the time range, which every view has: model/time-range.ts. */
export const RANGE_PARAMETERS = ['from', 'to', 't'] as const;

/**
 * @param query an empty value leaves the parameter out. The time range of the present address is kept where it has none.
 * @returns the address, starting with `#`.
 */
export function hrefTo(view: string, part = '', query: Record<string, string> = {}): string {
  const pairs = Object.entries({ ...keptRange(query), ...query }).filter(
    ([, value]) => value !== '',
  );
  const text = new URLSearchParams(pairs).toString();
  return `#/${view}${part === '' ? '' : `/${encodeURIComponent(part)}`}${text === '' ? '' : `?${text}`}`;
}

function keptRange(query: Record<string, string>): Record<string, string> {
  if (RANGE_PARAMETERS.some((name) => Object.hasOwn(query, name))) return {};
  const { query: now } = route.value;
  return Object.fromEntries(RANGE_PARAMETERS.map((name) => [name, now.get(name) ?? '']));
}

/** A view of what the page shows: of the recording in it, or of the service. */
export function hrefIn(view: string, part = '', query: Record<string, string> = {}): string {
  const { view: page, part: name } = route.value;
  if (page !== 'runs' || name === '') return hrefTo(view, part, query);
  // A bot of a recording is its lines.
  if (view === 'bots')
    return hrefTo('runs', name, { q: part === '' ? '' : `bot:${part}`, ...query });
  return hrefTo('runs', name, { part: view, cause: part, ...query });
}

export function go(href: string): void {
  location.hash = href;
}

/** Replaces the query, without a history entry. */
export function replaceQuery(query: Record<string, string>): void {
  const { view, part } = route.peek();
  // A link was followed, and its event is pending: what was typed before belongs to the view that is left.
  const next = parse(location.hash);
  if (next.view !== view || next.part !== part) return;
  replace(hrefTo(view, part, query));
}

/** Changes parts of the query. */
export function changeQuery(query: Record<string, string>): void {
  replaceQuery({ ...Object.fromEntries(route.peek().query), ...query });
}

/** Replaces the address, without a history entry. */
export function replace(href: string): void {
  history.replaceState(null, '', href);
  route.value = parse(location.hash);
}

window.addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
