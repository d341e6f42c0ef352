import type { Incident } from '../../../src/client/index.js';

/**
 * @param incidents the newest, newest first. @param open those that the user reads, by id.
 * @returns the same with those that newer ones have pushed out of the list.
 */
export function withOpen<I extends Pick<Incident, 'id' | 'at_ms'>>(
  incidents: readonly I[],
  open: ReadonlyMap<string, I>,
): I[] {
  const listed = new Set(incidents.map(({ id }) => id));
  const pushedOut = [...open.values()].filter(({ id }) => !listed.has(id));
  return [...incidents, ...pushedOut.sort((a, b) => b.at_ms - a.at_ms)];
}
