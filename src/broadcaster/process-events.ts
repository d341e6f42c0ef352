// Runs in the broadcaster thread. Owns the list of bots that one bot host process may publish about, and reads its
// batches. The process may have sent anything, so only events that a host may publish about its own bots pass.

import type { Batch, BatchAnswer } from '../shared/contract/batch.js';
import { EACH_INVISIBLE } from '../shared/contract/escapes.js';
import { LEVELS, type Level } from '../shared/contract/event-kinds.js';
import {
  type Item,
  type LogItem,
  SERVICE_STATUSES,
  type SessionItem,
} from '../shared/contract/events.js';
import { MAX_MESSAGE_UNITS } from '../shared/contract/line-text.js';
import { DISPATCH_SCOPE, isServiceScope } from '../shared/contract/scopes.js';
import { messageOf } from '../shared/errors.js';
import { eventTexts, readLine } from '../shared/pipe/event-text.js';
import { HostFault, objectOf, quoted } from '../shared/pipe/host-fault.js';

type Fields = Readonly<Record<string, unknown>>;

const { parse } = JSON;

/** Items of a batch (src/bot-host/outbox.ts). */
const MAX_ITEMS = 64;
/** The bounds that a bot host applies to its bots, with room for masks and truncation marks. In UTF-16 units. */
const MAX_SCOPE_UNITS = 64;
const MAX_STATUS_UNITS = 64;
const MAX_CORRELATION_UNITS = 1024;
/** Longest `data`, as JSON. */
const MAX_DATA_UNITS = 32_768;
const MAX_DATA_DEPTH = 64;
/** The host's own statuses of a run. */
const OF_RUNS: readonly string[] = ['starting', 'stopping'];
/** Cache of valid scopes. There are few; a full cache is emptied. */
const goodScopes = new Set<string>();
const MAX_GOOD_SCOPES = 1000;

export class ProcessEvents {
  readonly #answer: (answer: BatchAnswer) => void;
  /** Bots that have a run there. The relay says who, with the batches. */
  readonly #speakers = new Set<string>();
  #isFaulty = false;

  /** @param answer reports invalid items of the process to the relay. */
  constructor(answer: (answer: BatchAnswer) => void) {
    this.#answer = answer;
  }

  /** @returns what is to be published: nothing of a batch with a fault, and nothing after it. */
  take({ bytes, speakers = [] }: Batch): Item[] {
    for (const [id, speaks] of speakers) {
      if (speaks) this.#speakers.add(id);
      else this.#speakers.delete(id);
    }
    if (this.#isFaulty) return [];
    try {
      return this.#read(bytes);
    } catch (thrown) {
      this.#isFaulty = true;
      this.#answer({ fault: messageOf(thrown), isRead: thrown instanceof HostFault });
      return [];
    }
  }

  #read(bytes: Uint8Array): Item[] {
    const texts = eventTexts(bytes);
    if (texts.length > MAX_ITEMS) throw new HostFault(`a batch of ${texts.length} events`);
    const now = Date.now();
    const items: Item[] = [];
    const strangers = new Set<string>();
    for (const text of texts) {
      const item = itemOf(text, now);
      const id = item.kind === 'log' ? item.session_id : item.id;
      if (id !== null && this.#speakers.has(id)) items.push(item);
      // The bot's run there is over, or there never was one.
      else strangers.add(String(id));
    }
    for (const stranger of strangers) this.#answer({ stranger });
    return items;
  }
}

/** @throws HostFault, or SyntaxError for invalid JSON. */
function itemOf(text: string, now: number): LogItem | SessionItem {
  const line = readLine(text);
  if (line && isGood(line)) {
    // A line cannot be from the future, because the process uses this machine's clock.
    if (line.timestamp_ms > now) line.timestamp_ms = now;
    return line;
  }
  // Reads a change of a bot, or finds out why a line is invalid.
  const fields = objectOf(parse(text), 'an event');
  if (!Object.hasOwn(fields, 'patch')) {
    checkLine(fields);
    throw new HostFault('a line that is not as a host writes it');
  }
  return checkedChange(fields);
}

/** Checks the fields that {@link readLine} does not check. */
function isGood({ timestamp_ms: at, scope, correlation_id, message_json: json }: LogItem): boolean {
  checkScope(scope);
  return (
    Number.isSafeInteger(at) &&
    (correlation_id === undefined || correlation_id.length <= MAX_CORRELATION_UNITS) &&
    (json.length <= MAX_MESSAGE_UNITS || (parse(json) as string).length <= MAX_MESSAGE_UNITS)
  );
}

function checkLine(fields: Fields): void {
  const { timestamp_ms: at, level, scope, session_id: id, transport, direction, message } = fields;
  if (typeof id !== 'string') throw new HostFault(`a line of the bot ${quoted(id)}`);
  if (!isCount(at)) throw new HostFault('a line without a time');
  if (!LEVELS.includes(level as Level)) throw new HostFault(`a line of the level ${quoted(level)}`);
  if (typeof message !== 'string') throw new HostFault('a line without a message');
  if (message.length > MAX_MESSAGE_UNITS) {
    throw new HostFault(`a line of ${message.length} characters`);
  }
  checkScope(scope);
  checkWire(transport, direction);
  const { correlation_id: correlation } = fields;
  if (correlation === undefined) return;
  if (typeof correlation !== 'string' || correlation.length > MAX_CORRELATION_UNITS) {
    throw new HostFault(`${quoted(correlation)} as the id of a request`);
  }
}

function checkedChange({ id, patch }: Fields): SessionItem {
  if (typeof id !== 'string') throw new HostFault(`a change of the bot ${quoted(id)}`);
  const { status, since_ms: since, data, ...others } = objectOf(patch, 'a change of a bot');
  for (const name of Object.keys(others)) {
    throw new HostFault(`a change of ${quoted(name)}, which main owns`);
  }
  if (status !== undefined) checkStatus(status);
  if (since !== undefined && !isCount(since)) throw new HostFault('a status without a time');
  if (data !== undefined) checkData(data);
  return { kind: 'session', id, patch: patch as SessionItem['patch'] };
}

function checkStatus(value: unknown): void {
  const status = textOf(value, MAX_STATUS_UNITS);
  const isOwn = (SERVICE_STATUSES as readonly string[]).includes(status);
  if (!isOwn || OF_RUNS.includes(status)) return;
  throw new HostFault(`the status ${quoted(status)}, which is the service's own`);
}

function checkData(value: unknown): void {
  const data = objectOf(value, 'data');
  if (isNestedDeeper(data, MAX_DATA_DEPTH)) throw new HostFault('data that is nested too deep');
  const { length } = JSON.stringify(data);
  if (length > MAX_DATA_UNITS) throw new HostFault(`data of ${length} characters`);
}

function isNestedDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((inner) => isNestedDeeper(inner, depth - 1));
}

/** A scope that bots may choose, or that of command outcomes, which the host writes. */
function checkScope(value: unknown): void {
  if (goodScopes.has(value as string)) return;
  const scope = textOf(value, MAX_SCOPE_UNITS);
  if (isServiceScope(scope) && scope !== DISPATCH_SCOPE) {
    throw new HostFault(`a line with the scope ${quoted(scope)}, which is the service's own`);
  }
  if (goodScopes.size >= MAX_GOOD_SCOPES) goodScopes.clear();
  goodScopes.add(scope);
}

function checkWire(transport: unknown, direction: unknown): void {
  if (transport === null && direction === null) return;
  const isTransport = transport === 'tcp' || transport === 'http';
  if (isTransport && (direction === 'outgoing' || direction === 'incoming')) return;
  throw new HostFault(`a line with ${quoted(transport)} ${quoted(direction)} as its wire`);
}

/** A text without characters that control a terminal. */
function textOf(value: unknown, maxUnits: number): string {
  if (typeof value !== 'string' || value.length > maxUnits || value.search(EACH_INVISIBLE) >= 0) {
    throw new HostFault(`${quoted(value)} as a name`);
  }
  return value;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
