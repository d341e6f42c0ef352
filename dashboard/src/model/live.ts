// Runs in tabs. Owns the tab's copy of what the hub keeps: bots, the last lines, changes of status, rates. Plain containers
// with a signal each that counts their changes: thousands of lines a second are no thousand signals.

import { batch, signal } from '@preact/signals';
import type { BotSnapshot } from '../../../src/client/index.js';
import type { Connection, Line, Second, StatusChange, Update } from '../hub/messages.js';

const MAX_SECONDS = 900;
const MAX_CHANGES_OF_BOT = 200;

export const connection = signal<Connection>({ state: 'connecting' });
/** How far this machine's clock is ahead of the service's, in ms. */
export const clockAheadMs = signal(0);
/** Whether the state is there: before the first update nothing is known. */
export const isLoaded = signal(false);

export const bots = new Map<string, BotSnapshot>();
export const botsVersion = signal(0);

/** Oldest first, those that the hub keeps too. */
export let lines: Line[] = [];
export const linesVersion = signal(0);
/** Goes up when the lines before and after are not of one sequence. */
export const linesEpoch = signal(0);
/** Of each bot the newest line. */
export const lastLines = new Map<string, Line>();

/** Goes up with each error that the service itself tells of: that there is an incident report of an incident it says in one. */
export const serviceErrors = signal(0);
const SERVICE_SCOPE = 'drover';

/** Scopes that lines have had, for choosing among them; bots may use any, so there is a bound. */
export const scopes = signal<readonly string[]>([]);
const MAX_SCOPES = 100;

export const changes = new Map<string, StatusChange[]>();
export let seconds: Second[] = [];
export const secondsVersion = signal(0);

export function takeUpdate(update: Update): void {
  batch(() => {
    // Only what has changed is told: much hangs on it.
    if (!isSame(connection.peek(), update.connection)) connection.value = update.connection;
    clockAheadMs.value = update.clockAheadMs;
    if (update.reset) {
      bots.clear();
      lines = [];
      changes.clear();
      seconds = [];
      linesEpoch.value += 1;
    }
    takeBots(update);
    takeLines(update);
    for (const change of update.changes) takeChange(change);
    forgetGone(changes);
    takeSeconds(update.seconds);
    isLoaded.value ||= update.bots.length > 0 || update.connection.state !== 'connecting';
  });
}

function isSame(a: Connection, b: Connection): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** All that the tab has, for a hub that is to go on with it. */
export function keptHere(): Pick<Update, 'lines' | 'changes' | 'bots' | 'seconds'> {
  const inOrder = [...changes.values()].flat().sort((a, b) => a.n - b.n);
  return { lines, changes: inOrder, bots: [...bots.values()], seconds };
}

/** Forgets everything: another token may see other bots. */
export function forgetAll(): void {
  lastLines.clear();
  scopes.value = [];
  takeUpdate({
    reset: true,
    connection: { state: 'connecting' },
    clockAheadMs: 0,
    lines: [],
    firstLine: 0,
    changes: [],
    bots: [],
    gone: [],
    seconds: [],
  });
  isLoaded.value = false;
}

function takeBots(update: Update): void {
  if (update.bots.length === 0 && update.gone.length === 0 && !update.reset) return;
  for (const bot of update.bots) bots.set(bot.id, bot);
  for (const id of update.gone) {
    bots.delete(id);
    lastLines.delete(id);
  }
  botsVersion.value += 1;
}

function takeLines({ lines: more, firstLine }: Update): void {
  if (more.length === 0) return;
  for (const line of more) {
    if (line.bot !== null) lastLines.set(line.bot, line);
    if (line.level === 'error' && line.scope === SERVICE_SCOPE) serviceErrors.value += 1;
    if (line.scope !== '' && !scopes.peek().includes(line.scope)) addScope(line.scope);
  }
  forgetGone(lastLines);
  for (const line of more) lines.push(line);
  // The hub cuts off many at once.
  const gone = firstLine - (lines[0]?.n ?? 0);
  if (gone > 0) lines = lines.slice(gone);
  linesVersion.value += 1;
}

/** Lines from before, newest first: for bots of which nothing newer is known. */
export function takePastLines(past: readonly Line[]): void {
  for (const line of past) {
    if (line.bot !== null && !lastLines.has(line.bot)) lastLines.set(line.bot, line);
  }
  botsVersion.value += 1;
}

/** Bots come and go all day; of many that have gone nothing is kept. */
function forgetGone(ofBots: Map<string, unknown>): void {
  if (ofBots.size <= bots.size * 2 + 100) return;
  for (const id of ofBots.keys()) if (!bots.has(id)) ofBots.delete(id);
}

function addScope(scope: string): void {
  if (scopes.peek().length < MAX_SCOPES) scopes.value = [...scopes.peek(), scope].sort();
}

function takeChange(change: StatusChange): void {
  const of = changes.get(change.bot) ?? [];
  of.push(change);
  if (of.length > MAX_CHANGES_OF_BOT) of.splice(0, of.length - MAX_CHANGES_OF_BOT);
  changes.set(change.bot, of);
}

function takeSeconds(more: Second[]): void {
  const [first] = more;
  if (!first) return;
  // The last one may not have been over.
  while ((seconds.at(-1)?.[0] ?? 0) >= first[0]) seconds.pop();
  seconds.push(...more);
  if (seconds.length > MAX_SECONDS) seconds = seconds.slice(-MAX_SECONDS);
  secondsVersion.value += 1;
}
