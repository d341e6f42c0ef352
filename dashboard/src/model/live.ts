// Runs in tabs. Owns the tab's copy of the hub's state: bots, recent lines, status changes, rates. These are plain containers,
// each with a version signal: a signal per item would be too slow for thousands of lines a second.

import { batch, computed, signal } from '@preact/signals';
import type { BotSnapshot, Operation } from '../../../src/client/index.js';
import type {
  Connection,
  Handover,
  Lag,
  Line,
  Second,
  StatusChange,
  Update,
} from '../hub/messages.js';
import { type Answered, NOT_ASKED } from './asking.js';
import { ChangedIds } from './changed-ids.js';
import { inWords } from './history-lines.js';

const MAX_SECONDS = 900;
const MAX_CHANGES_OF_BOT = 200;
/** Operations that are kept: the service keeps no more. */
const MAX_STREAMED = 1000;
/** More than can change between two redraws of a view that redraws only changed bots. */
const MAX_CHANGED_BOTS = 5000;

export const connection = signal<Connection>({ state: 'connecting' });
/** How far this machine's clock is ahead of the service's, in ms. */
export const clockAheadMs = signal(0);
/** Whether the page has everything that existed when the stream started: until then, what is missing is unknown. */
export const isLoaded = signal(false);
/** For what is not requested without a connection: the lost connection is then the reason. */
export function withConnection<T>(answer: Answered<T>): Answered<T> {
  const { value: now } = connection;
  const isUnknown = answer.value === undefined && answer.error === undefined;
  return isUnknown && 'reason' in now ? { ...answer, error: new Error(now.reason) } : answer;
}

/** The same as {@link isLoaded}, with the reason for a view to show. */
export const loaded = computed<Answered<true>>(() =>
  withConnection(isLoaded.value ? { ...NOT_ASKED, value: true } : NOT_ASKED),
);
/** How late the newest lines came; null while none has come. */
export const lag = signal<Lag | null>(null);

export const bots = new Map<string, BotSnapshot>();
export const botsVersion = signal(0);
/** The bots that were added, changed or removed. */
export const changedBots = new ChangedIds(MAX_CHANGED_BOTS);

/** Those of these bots that exist. */
export function presentOf(ids: readonly string[]): BotSnapshot[] {
  return ids.flatMap((id) => bots.get(id) ?? []);
}

/** Oldest first, the same that the hub holds. */
export let lines: Line[] = [];
export const linesVersion = signal(0);
/** Incremented when `lines` was replaced and is not a continuation. */
export const linesEpoch = signal(0);
/** The newest line of each bot. */
export const lastLines = new Map<string, Line>();
/** When this tab last missed lines, in ms by the service's clock; null while it has all since its stream began. */
export const missedAt = signal<number | null>(null);
/** Bots that may have said something after their line in `lastLines`, when lines were missed. */
export const doubted = new Set<string>();

/** Incremented with each error line of the service itself, which announces for example a new incident report. */
export const serviceErrors = signal(0);
const SERVICE_SCOPE = 'drover';

/** What the stream has said last of operations, and when, by performance.now(). */
export const streamed = new Map<string, { operation: Operation; at: number }>();
export const streamedVersion = signal(0);
/** Incremented when events may be missing: what was derived from them is to be asked for again. */
export const missedEvents = signal(0);

/** Scopes seen so far, for the filter. Bounded, because bots can use any scope. */
export const scopes = signal<readonly string[]>([]);
const MAX_SCOPES = 100;

export const changes = new Map<string, StatusChange[]>();
export let seconds: Second[] = [];
/** The first second that was counted completely, in Unix epoch s; null before the stream is open. */
export let countedSince: number | null = null;
export const secondsVersion = signal(0);

export function applyUpdate(update: Update): void {
  batch(() => {
    // Set only on a change: many effects depend on it.
    if (!isSame(connection.peek(), update.connection)) connection.value = update.connection;
    clockAheadMs.value = update.clockAheadMs;
    lag.value = update.lag;
    if (update.reset) {
      // A tab that took no updates for a while: the hub may not have all lines any more.
      doubtLastLines(Date.now() - update.clockAheadMs);
      bots.clear();
      lines = [];
      changes.clear();
      streamed.clear();
      missedEvents.value += 1;
      seconds = [];
      linesEpoch.value += 1;
    }
    applyBots(update);
    applyLines(update);
    // With the lines that it said before it went.
    for (const id of update.gone) lastLines.delete(id);
    applyOperations(update.operations);
    for (const change of update.changes) addChange(change);
    dropDeletedBots(changes);
    countedSince = update.countedSince;
    applySeconds(update.seconds);
    isLoaded.value = update.isComplete;
  });
}

function isSame(a: Connection, b: Connection): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The whole state, to hand over to a new hub. */
export function currentState(): Omit<Handover, 'token'> {
  const inOrder = [...changes.values()].flat().sort((a, b) => a.n - b.n);
  return { lines, changes: inOrder, bots: [...bots.values()], seconds, countedSince };
}

/** An update without news. */
export function noNews(): Update {
  return {
    reset: false,
    connection: { state: 'connecting' },
    clockAheadMs: 0,
    lag: null,
    isComplete: false,
    lines: [],
    firstLine: 0,
    changes: [],
    bots: [],
    gone: [],
    operations: [],
    seconds: [],
    countedSince: null,
  };
}

/** Clears everything: another token may see other bots. */
export function resetState(): void {
  lastLines.clear();
  doubted.clear();
  missedAt.value = null;
  scopes.value = [];
  applyUpdate({ ...noNews(), reset: true });
}

function applyBots(update: Update): void {
  if (update.bots.length === 0 && update.gone.length === 0 && !update.reset) return;
  if (update.reset) changedBots.forget();
  for (const bot of update.bots) {
    bots.set(bot.id, bot);
    changedBots.add(bot.id);
  }
  for (const id of update.gone) {
    bots.delete(id);
    changedBots.add(id);
  }
  botsVersion.value += 1;
}

function applyLines({ lines: more, firstLine }: Update): void {
  if (more.length === 0) return;
  for (const line of more) {
    if (line.gap) {
      doubtLastLines(line.at);
      missedEvents.value += 1;
    }
    if (line.bot !== null) {
      lastLines.set(line.bot, line);
      doubted.delete(line.bot);
    }
    if (line.level === 'error' && line.scope === SERVICE_SCOPE) serviceErrors.value += 1;
    if (line.scope !== '' && !scopes.peek().includes(line.scope)) addScope(line.scope);
  }
  dropDeletedBots(lastLines);
  for (const id of doubted) if (!lastLines.has(id)) doubted.delete(id);
  for (const line of more) lines.push(inWords(line));
  // The hub removes old lines in batches.
  const gone = firstLine - (lines[0]?.n ?? 0);
  if (gone > 0) lines = lines.slice(gone);
  linesVersion.value += 1;
}

function doubtLastLines(nowMs: number): void {
  if (lastLines.size === 0) return;
  for (const id of lastLines.keys()) doubted.add(id);
  missedAt.value = nowMs;
}

/** Adds lines of the journal, newest first, as last lines of the bots that have no later one. */
export function addHistoryLines(history: readonly Line[]): void {
  for (const line of history) {
    if (line.bot === null) continue;
    doubted.delete(line.bot);
    const known = lastLines.get(line.bot);
    if (known === undefined || known.at < line.at) lastLines.set(line.bot, line);
  }
  botsVersion.value += 1;
}

/** Bounds a map by bot id: removes deleted bots when they are the majority. */
function dropDeletedBots(ofBots: Map<string, unknown>): void {
  if (ofBots.size <= bots.size * 2 + 100) return;
  for (const id of ofBots.keys()) if (!bots.has(id)) ofBots.delete(id);
}

function applyOperations(more: readonly Operation[]): void {
  if (more.length === 0) return;
  for (const operation of more) streamed.set(operation.id, { operation, at: performance.now() });
  // Those that began first are the first to be over.
  for (const id of streamed.keys()) {
    if (streamed.size <= MAX_STREAMED) break;
    streamed.delete(id);
  }
  streamedVersion.value += 1;
}

function addScope(scope: string): void {
  if (scopes.peek().length < MAX_SCOPES) scopes.value = [...scopes.peek(), scope].sort();
}

function addChange(change: StatusChange): void {
  const of = changes.get(change.bot) ?? [];
  of.push(change);
  if (of.length > MAX_CHANGES_OF_BOT) of.splice(0, of.length - MAX_CHANGES_OF_BOT);
  changes.set(change.bot, of);
}

function applySeconds(more: Second[]): void {
  const [first] = more;
  if (!first) return;
  // The last second may have been incomplete.
  while ((seconds.at(-1)?.[0] ?? 0) >= first[0]) seconds.pop();
  seconds.push(...more);
  if (seconds.length > MAX_SECONDS) seconds = seconds.slice(-MAX_SECONDS);
  secondsVersion.value += 1;
}
