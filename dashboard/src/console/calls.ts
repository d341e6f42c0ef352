// Runs in tabs. Owns the calls of commands that were made here, with their results, and the lines that were typed for them. They
// belong to one session and are forgotten with it.

import { effect, signal } from '@preact/signals';
import { ApiError, type JsonObject } from '../../../src/client/index.js';
import { api, type Session, session } from '../model/session.js';
import { serverNow } from '../model/time.js';
import { type Schema, withoutSecrets } from '../parts/schema.js';
import { t } from '../texts/text.js';

export interface Call {
  key: number;
  bot: string;
  command: string;
  args: JsonObject;
  /** The arguments without secrets. */
  shown: JsonObject;
  schema: Schema;
  /** Unix epoch ms, by the service's clock. */
  at: number;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  /** How long it took. */
  ms: number;
  /** The result as JSON, or the error. */
  text: string;
}

/** Bound of the calls of one bot; the oldest are forgotten. */
const MAX_CALLS = 50;
/** Bound of the bots with calls; the one that was called the longest ago is forgotten. */
const MAX_BOTS = 50;
/** Bound of the lines in the history; the oldest are forgotten. */
const MAX_LINES = 200;

const calls = signal<ReadonlyMap<string, readonly Call[]>>(new Map());
const aborts = new Map<number, AbortController>();
let next = 1;
let typed: readonly string[] = [];
/** Lines that are being typed, by bot. */
const drafts = new Map<string, string>();

/** The calls of a bot, the newest first. */
export function callsOf(bot: string): readonly Call[] {
  return calls.value.get(bot) ?? [];
}

export function clearCalls(bot: string): void {
  for (const { key } of callsOf(bot)) cancelCall(key);
  const rest = new Map(calls.peek());
  rest.delete(bot);
  calls.value = rest;
}

/** The lines that were typed, the oldest first. */
export function typedLines(): readonly string[] {
  return typed;
}

export function noteLine(line: string): void {
  typed = [...typed.filter((one) => one !== line), line].slice(-MAX_LINES);
}

export function draftOf(bot: string): string {
  return drafts.get(bot) ?? '';
}

/** Keeps a line that is being typed, for when the page comes back to its bot. */
export function keepDraft(bot: string, line: string): void {
  drafts.delete(bot);
  if (line !== '') drafts.set(bot, line);
  const [oldest] = drafts.keys();
  if (drafts.size > MAX_BOTS && oldest !== undefined) drafts.delete(oldest);
}

/** Runs a command. @throws what the service answers; the call has it too. */
export async function runCall(
  bot: string,
  command: string,
  args: JsonObject,
  schema: Schema,
): Promise<void> {
  const abort = new AbortController();
  const { signal: gone } = abort;
  const key = next++;
  const began = performance.now();
  aborts.set(key, abort);
  put({
    key,
    bot,
    command,
    args,
    shown: withoutSecrets(schema, args),
    schema,
    at: serverNow(),
    state: 'running',
    ms: 0,
    text: '',
  });
  const end = (state: Call['state'], text: string): void =>
    change(bot, key, { state, text, ms: Math.round(performance.now() - began) });
  try {
    const result = await api().invoke(bot, command, args, { signal: gone });
    end('done', JSON.stringify(result, null, 2));
  } catch (thrown) {
    // The service aborts the command when its client has gone.
    if (gone.aborted) end('cancelled', t('call.cancelledText'));
    else {
      end('failed', textOf(thrown));
      throw thrown;
    }
  } finally {
    aborts.delete(key);
  }
}

export function cancelCall(key: number): void {
  aborts.get(key)?.abort();
}

function textOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return thrown instanceof ApiError ? `${thrown.status}: ${message}` : message;
}

function put(call: Call): void {
  const all = new Map(calls.peek());
  const before = all.get(call.bot) ?? [];
  // Set again, so that the first is the one that was called the longest ago.
  all.delete(call.bot);
  all.set(call.bot, [call, ...before].slice(0, MAX_CALLS));
  const [oldest] = all.keys();
  if (all.size > MAX_BOTS && oldest !== undefined) all.delete(oldest);
  calls.value = all;
}

function change(bot: string, key: number, part: Partial<Call>): void {
  const of = calls.peek().get(bot);
  if (!of) return;
  const changed = of.map((call) => (call.key === key ? { ...call, ...part } : call));
  calls.value = new Map(calls.peek()).set(bot, changed);
}

let before: Session | undefined;
effect(() => {
  const { value: now } = session;
  if (before === now) return;
  before = now;
  for (const abort of aborts.values()) abort.abort();
  calls.value = new Map();
  typed = [];
  drafts.clear();
});
