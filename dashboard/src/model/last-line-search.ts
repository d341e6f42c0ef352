// Looks for the last line of each bot in the journal, newest lines first. Quiet bots are looked for by id: the newest pages
// have only busy ones. Pure.

/** The most ids of a request that uses the journal's index. */
export const MOST_IDS = 64;
/** Bound of the pages of one search. */
const MAX_PAGES = 40;

export interface Page {
  lines: readonly { at: number; bot: string | null }[];
  isLast: boolean;
  cursor: string | undefined;
  /** Nodes of a cluster did not answer: their lines are not in it. */
  isPartial: boolean;
}

export interface SearchParts {
  /** A page of lines, newest first, which are taken as last lines of their bots. @param ids undefined: of all bots. */
  ask(ids: readonly string[] | undefined, cursor: string | undefined): Promise<Page>;
  /** Ids of the bots whose last line is wanted and not known. */
  missing(): readonly string[];
  /** All lines since then, in ms, have been searched: a missing one is older. */
  reached(ms: number): void;
  /** The journal has no line of these. */
  without(ids: readonly string[]): void;
}

/** @param isThorough false looks at one page. */
export async function searchLastLines(parts: SearchParts, isThorough: boolean): Promise<void> {
  let pages = 0;
  let cursor: string | undefined;
  const seen = new Set<string | null>();
  // As long as a page of all bots finds more of them than one of some ids can.
  for (let found = MOST_IDS; found >= MOST_IDS; ) {
    if (pages++ === MAX_PAGES) return;
    const page = await parts.ask(undefined, cursor);
    if (page.isLast) {
      if (!page.isPartial) parts.without(parts.missing());
      return;
    }
    const oldest = page.lines.at(-1);
    if (oldest && !page.isPartial) parts.reached(oldest.at);
    if (!isThorough || parts.missing().length === 0) return;
    found = -seen.size;
    for (const { bot } of page.lines) seen.add(bot);
    found += seen.size;
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
        if (!page.isPartial) parts.without(rest);
        break;
      }
      // A cursor belongs to the ids that it was given for.
      cursor = rest.length === ids.length ? page.cursor : undefined;
      ids = rest;
    }
  }
}
