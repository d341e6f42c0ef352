// Looks for the last line of each bot in the journal, newest lines first. Those that say little are looked for by id: the newest pages
// have only those that say much. Pure.

/** The most ids of a request that uses the journal's index. */
export const MOST_IDS = 64;
/** Bound of the pages of one search. */
const MAX_PAGES = 40;

export interface Page {
  lines: readonly { at: number }[];
  isLast: boolean;
  cursor: string | undefined;
}

export interface SearchParts {
  /** A page of lines, newest first, which are taken as last lines of their bots. @param ids undefined: of all bots. */
  ask(ids: readonly string[] | undefined, cursor: string | undefined): Promise<Page>;
  /** Ids of the bots whose last line is wanted and not known. */
  missing(): readonly string[];
  /** All lines since then have been looked at: what is missing is older. In ms. */
  reached(ms: number): void;
  /** The journal has no line of these. */
  without(ids: readonly string[]): void;
}

/** @param isThorough false looks at one page. */
export async function searchLastLines(parts: SearchParts, isThorough: boolean): Promise<void> {
  let pages = 0;
  let cursor: string | undefined;
  // As long as a page of all bots finds more of them than one of some ids can.
  for (let found = MOST_IDS; found >= MOST_IDS; ) {
    if (pages++ === MAX_PAGES) return;
    const before = parts.missing().length;
    const page = await parts.ask(undefined, cursor);
    if (page.isLast) return parts.without(parts.missing());
    const oldest = page.lines.at(-1);
    if (oldest) parts.reached(oldest.at);
    if (!isThorough) return;
    found = before - parts.missing().length;
    ({ cursor } = page);
  }
  const all = [...parts.missing()];
  for (let at = 0; at < all.length; at += MOST_IDS) {
    let ids = all.slice(at, at + MOST_IDS);
    cursor = undefined;
    while (ids.length > 0) {
      if (pages++ === MAX_PAGES) return;
      const page = await parts.ask(ids, cursor);
      const missing = new Set(parts.missing());
      const rest = ids.filter((id) => missing.has(id));
      if (page.isLast) {
        parts.without(rest);
        break;
      }
      // A cursor belongs to the ids that it was given for.
      cursor = rest.length === ids.length ? page.cursor : undefined;
      ids = rest;
    }
  }
}
