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
  'bot <id> never restarted',
  'line "<text>" [of <bot>] [within <time>]',
  'no line "<text>" [of <bot>]',
  'no errors [of <bot>]',
  'no restarts [of <bot>]',
  'at least <n> events [of <bot>]',
  'at most <n> events [of <bot>]',
  'no gaps',
];

const ID = '([A-Za-z0-9][A-Za-z0-9._-]{0,63})';
const OF = `(?: of (?:bot )?${ID})?`;
const WITHIN = '(?: within (\\S+(?: [a-z]+)?))?';
const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';

/** A word, or quoted text: two groups, of which one matches. */
const STATUS = `(?:${QUOTED}|([^\\s"]\\S*))`;

/** Runs of spaces outside of quoted text, where spaces count. Text without its closing quote too: each quote in it would be tried. */
const SPACES = new RegExp(`${QUOTED}?|\\s+`, 'g');

/** The words of a form that matched, and whether bots that never appear are meant. */
type Make = (text: string, words: (string | undefined)[], allowAbsent: boolean) => Expectation;

/** Each form with the constructor for its matched words. */
const GRAMMAR: [RegExp, Make][] = [
  [
    new RegExp(`^(?:bot ${ID} never restarted|no restarts?${OF})$`),
    (text, [bot, other], allowAbsent) => {
      const subject = new Subject(bot ?? other, 'snapshots', allowAbsent);
      const restarts = new Restarts();
      return new Never(text, subject, (event) => restarts.see(event), 'there was one');
    },
  ],
  [
    new RegExp(`^bot ${ID} never ${STATUS}$`),
    (text, [bot = '', quoted, word], allowAbsent) => {
      const status = word ?? unquoted(quoted);
      const subject = new Subject(bot, 'snapshots', allowAbsent);
      return new Never(text, subject, (event) => isIn(event, status), `${bot} was ${status}`);
    },
  ],
  [
    new RegExp(`^bot ${ID} (?:is )?${STATUS}${WITHIN}$`),
    (text, [bot = '', quoted, word, within]) => {
      const status = word ?? unquoted(quoted);
      const subject = new Subject(bot, 'snapshots');
      return new Reached(text, subject, (event) => isIn(event, status), timeOf(within));
    },
  ],
  [
    new RegExp(`^line ${QUOTED}${OF}${WITHIN}$`),
    (text, [part = '', bot, within]) =>
      new Reached(text, new Subject(bot, 'events'), lineWith(part), timeOf(within)),
  ],
  [
    new RegExp(`^no line ${QUOTED}${OF}$`),
    (text, [part = '', bot], allowAbsent) =>
      new Never(text, new Subject(bot, 'events', allowAbsent), lineWith(part), 'found one'),
  ],
  [
    new RegExp(`^no errors?(?: lines?)?${OF}$`),
    (text, [bot], allowAbsent) =>
      new Never(
        text,
        new Subject(bot, 'events', allowAbsent),
        (event) => event.event === 'log' && event.data.level === 'error',
        'found one',
      ),
  ],
  [
    new RegExp(`^at (least|most) (\\d{1,15}) events?${OF}$`),
    (text, [which, count, bot], allowAbsent) => {
      const subject = new Subject(bot, 'events', allowAbsent);
      return new Count(text, subject, which === 'least', Number(count));
    },
  ],
  [
    /^no gaps?$/,
    (text) =>
      new Never(
        text,
        new Subject(undefined, 'events'),
        ({ event }) => event === 'gap',
        'events were lost',
      ),
  ],
];

/**
 * @param allowAbsent also holds when the bot that it is about never appears. Otherwise that is a failure: who misspells an id
 * would be told that nothing is wrong with it. @throws Error that lists the grammar.
 */
export function parseExpectation(text: string, allowAbsent = false): Expectation {
  const plain = text.trim().replace(SPACES, (part) => (part.startsWith('"') ? part : ' '));
  for (const [form, make] of GRAMMAR) {
    const match = form.exec(plain);
    if (match) return make(plain, match.slice(1), allowAbsent);
  }
  const hint = plain.startsWith('bot ') ? ' (quote a status with spaces: bot a "two words")' : '';
  throw new Error(
    `${JSON.stringify(text)} is not an expectation; use one of: ${FORMS.join('; ')}${hint}`,
  );
}

/** The bot that an expectation is about, or all of them, and whether it was seen. */
class Subject {
  readonly #bot: string | undefined;
  readonly #needs: 'events' | 'snapshots';
  readonly #allowAbsent: boolean;
  #isThere = false;

  /** @param needs what has to be seen of it. */
  constructor(bot: string | undefined, needs: 'events' | 'snapshots', allowAbsent = false) {
    this.#bot = bot;
    this.#needs = needs;
    this.#allowAbsent = allowAbsent;
  }

  /** @returns whether the event is about it. */
  see(event: StreamEvent): boolean {
    const isAbout = isOf(event, this.#bot);
    if (isAbout && (this.#needs === 'events' || event.event === 'session')) this.#isThere = true;
    return isAbout;
  }

  /** Why nothing can be said of it; undefined when it was seen, or need not be. */
  get absence(): string | undefined {
    if (this.#isThere || this.#allowAbsent) return undefined;
    if (this.#needs === 'snapshots') {
      const who = this.#bot === undefined ? 'any bot' : `bot ${this.#bot}`;
      return `no snapshot of ${who} was seen`;
    }
    return this.#bot === undefined ? undefined : `bot ${this.#bot} never appeared`;
  }
}

/** Something must happen. */
class Reached implements Expectation {
  readonly text: string;
  readonly withinMs: number | null;
  readonly #subject: Subject;
  readonly #fits: (event: StreamEvent) => boolean;
  #atMs: number | undefined;

  constructor(
    text: string,
    subject: Subject,
    fits: (event: StreamEvent) => boolean,
    withinMs: number | null,
  ) {
    this.text = text;
    this.withinMs = withinMs;
    this.#subject = subject;
    this.#fits = fits;
  }

  get isDecided(): boolean {
    return this.#atMs !== undefined;
  }

  see(event: StreamEvent, atMs: number): void {
    if (this.#subject.see(event) && this.#atMs === undefined && this.#fits(event)) {
      this.#atMs = atMs;
    }
  }

  verdict(): Verdict {
    const { text, withinMs } = this;
    const atMs = this.#atMs;
    if (atMs === undefined) {
      const { absence } = this.#subject;
      const message = absence === undefined ? 'did not happen' : `did not happen: ${absence}`;
      return { text, passed: false, message, after_ms: null };
    }
    const passed = withinMs === null || atMs <= withinMs;
    const message = `happened after ${showDuration(atMs)}${passed ? '' : ', too late'}`;
    return { text, passed, message, after_ms: atMs };
  }
}

/** Something must not happen. */
class Never implements Expectation {
  readonly text: string;
  readonly withinMs = null;
  readonly #subject: Subject;
  readonly #fits: (event: StreamEvent) => boolean;
  readonly #what: string;
  #seen: { event: StreamEvent; atMs: number } | undefined;

  constructor(text: string, subject: Subject, fits: (event: StreamEvent) => boolean, what: string) {
    this.text = text;
    this.#subject = subject;
    this.#fits = fits;
    this.#what = what;
  }

  get isDecided(): boolean {
    return this.#seen !== undefined;
  }

  see(event: StreamEvent, atMs: number): void {
    if (this.#subject.see(event) && !this.#seen && this.#fits(event)) this.#seen = { event, atMs };
  }

  verdict(missing: string | null): Verdict {
    const { text } = this;
    if (!this.#seen) {
      const { absence } = this.#subject;
      const passed = missing === null && absence === undefined;
      const unknown = missing === null ? absence : `not observed, but ${missing}`;
      return { text, passed, message: unknown ?? 'never happened', after_ms: null };
    }
    const { event, atMs } = this.#seen;
    const message = `${this.#what} after ${showDuration(atMs)}${shown(event)}`;
    return { text, passed: false, message, after_ms: atMs };
  }
}

/** A number of events. Gaps and the initial snapshots do not count. */
class Count implements Expectation {
  readonly text: string;
  readonly withinMs = null;
  readonly #isLeast: boolean;
  readonly #bound: number;
  readonly #subject: Subject;
  #count = 0;

  constructor(text: string, subject: Subject, isLeast: boolean, bound: number) {
    this.text = text;
    this.#subject = subject;
    this.#isLeast = isLeast;
    this.#bound = bound;
  }

  get isDecided(): boolean {
    return this.#isLeast ? this.#count >= this.#bound : this.#count > this.#bound;
  }

  see(event: StreamEvent): void {
    const isAbout = this.#subject.see(event);
    if (isAbout && event.event !== 'gap' && event.id !== null) this.#count++;
  }

  verdict(missing: string | null): Verdict {
    const fits = this.#isLeast === this.isDecided;
    const isKnown = this.isDecided || missing === null;
    const { absence } = this.#subject;
    const seen = absence === undefined ? `${this.#count} seen` : `0 seen: ${absence}`;
    const message = isKnown ? seen : `${this.#count} observed; ${missing}`;
    const passed = fits && isKnown && absence === undefined;
    return { text: this.text, passed, message, after_ms: null };
  }
}

/** Counts the restarts of bots after failures; those that a request asks for are none. */
class Restarts {
  /** By bot: `restarts` of its last snapshot. */
  readonly #counts = new Map<string, number>();

  /** @returns whether a bot has been restarted since its last snapshot, or now waits for it. */
  see(event: StreamEvent): boolean {
    if (event.event !== 'session') return false;
    const { id, restarts, status } = event.data.snapshot;
    const before = this.#counts.get(id);
    this.#counts.set(id, restarts);
    // One that waits at the beginning failed before the run.
    return restarts > (before ?? restarts) || (status === 'backoff' && event.id !== null);
  }
}

/** What an event says of whom. */
function shown(event: StreamEvent): string {
  if (event.event === 'log') return `: ${event.data.session_id ?? '-'} ${event.data.message}`;
  if (event.event !== 'session') return '';
  const { id, status, last_error } = event.data.snapshot;
  return `: ${id} ${last_error ?? status}`;
}

function isIn(event: StreamEvent, status: string): boolean {
  return event.event === 'session' && event.data.snapshot.status === status;
}

function lineWith(quoted: string): (event: StreamEvent) => boolean {
  const part = unquoted(quoted);
  return (event) => event.event === 'log' && event.data.message.includes(part);
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
