// Runs in tabs. Owns the changes of configurations that are not saved yet. They are kept while the page shows something else, in
// memory only: secrets may be among them.

import { effect, signal } from '@preact/signals';
import type { JsonObject } from '../../../src/client/index.js';
import { type Session, session } from '../model/session.js';

export interface Draft {
  /** The values that it is a change of. */
  base: { config: JsonObject; restart: JsonObject };
  config: JsonObject;
  /** Undefined while they are not edited. */
  labels: { text: string; base: Record<string, string> } | undefined;
  restart: JsonObject;
  /** Names of what is changed. */
  names: readonly string[];
}

/** Bound; the oldest is dropped. */
const MAX_DRAFTS = 50;

/** By bot. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

/** @param draft undefined when there is nothing to keep. */
export function keepDraft(bot: string, draft: Draft | undefined): void {
  if (draft === undefined && !drafts.peek().has(bot)) return;
  const all = new Map(drafts.peek());
  all.delete(bot);
  if (draft) all.set(bot, draft);
  const [oldest] = all.keys();
  if (all.size > MAX_DRAFTS && oldest !== undefined) all.delete(oldest);
  drafts.value = all;
}

/** The browser asks before it discards them. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

effect(() => {
  if (drafts.value.size > 0) window.addEventListener('beforeunload', warn);
  else window.removeEventListener('beforeunload', warn);
});

let before: Session | undefined;
effect(() => {
  const { value: now } = session;
  if (before !== now) drafts.value = new Map();
  before = now;
});
