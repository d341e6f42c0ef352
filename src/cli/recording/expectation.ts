// Expectations of a run: their grammar, and whether the events meet them.

import type { StreamEvent } from '../../client/index.js';
import { MAX_TIMER_MS } from '../../shared/contract/timers.js';
import { parseDuration, showDuration, TOO_LONG } from '../flags/duration.js';

/** The result of one expectation. */
export interface Verdict {
  text: string;
  passed: boolean;
  /** Why it passed or failed. */
  message: string;
  /** When that was known, in ms since the start of the run; null if only the end of the run could tell. */
  after_ms: number | null;
}

/** The state of one expectation over one run. */
export interface Expectation {
  readonly text: string;
  /** Deadline in ms since the start; null if the whole run counts. */
  readonly withinMs: number | null;
  /** Whether further events cannot change the result. */
  readonly isDecided: boolean;
  /** The next event, `atMs` after the start. */
  see(event: StreamEvent, atMs: number): void;
  /**
   * The result so far, or at the end. @param missing why the run was not observed to its end, null if it was: an unobserved
   * event may have violated a `never`.
   */
  verdict(missing: string | null): Verdict;
}

/** The grammar, for help and errors. */
export const FORMS = [
  'bot <id> <status> [within <time>]',
  'bot <id> never <status>',
  'line "<text>" [of <bot>] [within <time>]',
  'no line "<text>" [of <bot>]',
  'no errors [of <bot>]',
  'at least <n> events [of <bot>]',
  'at most <n> events [of <bot>]',
  'no gaps',
];

const ID = '([A-Za-z0-9][A-Za-z0-9._-]{0,63})';
const OF = `(?: of (?:bot )?${ID})?`;
const WITHIN = '(?: within (\\S+(?: ?[a-z]+)?))?';
const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';

/** A word, or quoted text: two groups, of which one matches. */
const STATUS = `(?:${QUOTED}|([^\\s"]\\S*))`;

/** Runs of spaces outside of quoted text, where spaces count. */
const SPACES = new RegExp(`${QUOTED}|\\s+`, 'g');

/** Each form with the constructor for its matched words. */
const GRAMMAR: [RegExp, (text: string, words: (string | undefined)[]) => Expectation][] = [
  [
    new RegExp(`^bot ${ID} never ${STATUS}$`),
    (text, [bot = '', quoted, word]) => {
      const status = word ?? unquoted(quoted);
      return new Never(text, (event) => hasStatus(event, bot, status), `${bot} was ${status}`);
    },
  ],
  [
    new RegExp(`^bot ${ID} (?:is )?${STATUS}${WITHIN}$`),
    (text, [bot = '', quoted, word, within]) => {
      const status = word ?? unquoted(quoted);
      return new Reached(text, (event) => hasStatus(event, bot, status), timeOf(within));
    },
  ],
  [
    new RegExp(`^line ${QUOTED}${OF}${WITHIN}$`),
    (text, [part = '', bot, within]) => new Reached(text, lineWith(part, bot), timeOf(within)),
  ],
  [
    new RegExp(`^no line ${QUOTED}${OF}$`),
    (text, [part = '', bot]) => new Never(text, lineWith(part, bot), 'found one'),
  ],
  [
    new RegExp(`^no errors?(?: lines?)?${OF}$`),
    (text, [bot]) =>
      new Never(
        text,
        (event) => event.event === 'log' && event.data.level === 'error' && isOf(event, bot),
        'found one',
      ),
  ],
  [
    new RegExp(`^at (least|most) (\\d{1,15}) events?${OF}$`),
    (text, [which, count, bot]) => new Count(text, which === 'least', Number(count), bot),
  ],
  [/^no gaps?$/, (text) => new Never(text, ({ event }) => event === 'gap', 'events were lost')],
];

/** @throws Error that lists the grammar. */
export function parseExpectation(text: string): Expectation {
  const plain = text.trim().replace(SPACES, (part) => (part.startsWith('"') ? part : ' '));
  for (const [form, make] of GRAMMAR) {
    const match = form.exec(plain);
    if (match) return make(plain, match.slice(1));
  }
  const hint = plain.startsWith('bot ') ? ' (quote a status with spaces: bot a "two words")' : '';
  throw new Error(
    `${JSON.stringify(text)} is not an expectation; use one of: ${FORMS.join('; ')}${hint}`,
  );
}

/** Something must happen. */
class Reached implements Expectation {
  readonly text: string;
  readonly withinMs: number | null;
  readonly #fits: (event: StreamEvent) => boolean;
  #atMs: number | undefined;

  constructor(text: string, fits: (event: StreamEvent) => boolean, withinMs: number | null) {
    this.text = text;
    this.withinMs = withinMs;
    this.#fits = fits;
  }

  get isDecided(): boolean {
    return this.#atMs !== undefined;
  }

  see(event: StreamEvent, atMs: number): void {
    if (this.#atMs === undefined && this.#fits(event)) this.#atMs = atMs;
  }

  verdict(): Verdict {
    const { text, withinMs } = this;
    const atMs = this.#atMs;
    if (atMs === undefined)
      return { text, passed: false, message: 'did not happen', after_ms: null };
    const passed = withinMs === null || atMs <= withinMs;
    const message = `happened after ${showDuration(atMs)}${passed ? '' : ', too late'}`;
    return { text, passed, message, after_ms: atMs };
  }
}

/** Something must not happen. */
class Never implements Expectation {
  readonly text: string;
  readonly withinMs = null;
  readonly #fits: (event: StreamEvent) => boolean;
  readonly #what: string;
  #seen: { event: StreamEvent; atMs: number } | undefined;

  constructor(text: string, fits: (event: StreamEvent) => boolean, what: string) {
    this.text = text;
    this.#fits = fits;
    this.#what = what;
  }

  get isDecided(): boolean {
    return this.#seen !== undefined;
  }

  see(event: StreamEvent, atMs: number): void {
    if (!this.#seen && this.#fits(event)) this.#seen = { event, atMs };
  }

  verdict(missing: string | null): Verdict {
    const { text } = this;
    if (!this.#seen) {
      const message = missing === null ? 'never happened' : `not observed, but ${missing}`;
      return { text, passed: missing === null, message, after_ms: null };
    }
    const { event, atMs } = this.#seen;
    const line =
      event.event === 'log' ? `: ${event.data.session_id ?? '-'} ${event.data.message}` : '';
    const message = `${this.#what} after ${showDuration(atMs)}${line}`;
    return { text, passed: false, message, after_ms: atMs };
  }
}

/** A number of events. Gaps and the initial snapshots do not count. */
class Count implements Expectation {
  readonly text: string;
  readonly withinMs = null;
  readonly #isLeast: boolean;
  readonly #bound: number;
  readonly #bot: string | undefined;
  #count = 0;

  constructor(text: string, isLeast: boolean, bound: number, bot: string | undefined) {
    this.text = text;
    this.#isLeast = isLeast;
    this.#bound = bound;
    this.#bot = bot;
  }

  get isDecided(): boolean {
    return this.#isLeast ? this.#count >= this.#bound : this.#count > this.#bound;
  }

  see(event: StreamEvent): void {
    if (event.event !== 'gap' && event.id !== null && isOf(event, this.#bot)) this.#count++;
  }

  verdict(missing: string | null): Verdict {
    const fits = this.#isLeast === this.isDecided;
    const isKnown = this.isDecided || missing === null;
    const message = isKnown ? `${this.#count} seen` : `${this.#count} observed; ${missing}`;
    return { text: this.text, passed: fits && isKnown, message, after_ms: null };
  }
}

function hasStatus(event: StreamEvent, bot: string, status: string): boolean {
  if (event.event !== 'session') return false;
  const { snapshot } = event.data;
  return snapshot.id === bot && snapshot.status === status;
}

function lineWith(quoted: string, bot: string | undefined): (event: StreamEvent) => boolean {
  const part = unquoted(quoted);
  return (event) => event.event === 'log' && event.data.message.includes(part) && isOf(event, bot);
}

function unquoted(text = ''): string {
  return text.replace(/\\(.)/g, '$1');
}

function isOf(event: StreamEvent, bot: string | undefined): boolean {
  if (bot === undefined) return true;
  if (event.event === 'log') return event.data.session_id === bot;
  return event.event === 'session' && event.data.snapshot.id === bot;
}

function timeOf(within: string | undefined): number | null {
  if (within === undefined) return null;
  const ms = parseDuration(within);
  if (ms === undefined)
    throw new Error(`${JSON.stringify(within)} is not a duration; use for example 500ms, 5s or 2m`);
  if (ms > MAX_TIMER_MS) throw new Error(`within ${within}: ${TOO_LONG}`);
  return ms;
}
