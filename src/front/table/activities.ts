// Runs in a front thread. Owns the activities of clients that main does not have yet.

import type { ActivityName } from '../../shared/contract/activity.js';
import type { RouteName } from '../../shared/contract/routes/table.js';
import type { ActivityReport } from '../../shared/contract/threads.js';
import type { ClientOrigin } from '../../shared/contract/tokens.js';
import { DroverError, ERRORS, messageOf } from '../../shared/errors.js';

/** Activities that are told at once; the next begin another message. Those of one turn share a message. */
const MAX_TOLD = 1000;

/** Refusals of one client that are told in one window; the others are counted. */
const MAX_REFUSALS = 20;
/** Clients whose refusals are told in one window: a flood of addresses is no activity. */
const MAX_REFUSED = 1000;
const WINDOW_MS = 60_000;

/** Who does something: the token, and where its client is. */
export interface Actor extends ClientOrigin {
  name: string | null;
  token: string | null;
}

export class Activities {
  readonly #tell: (reports: ActivityReport[]) => void;
  readonly #now: () => number;
  #reports: ActivityReport[] = [];
  /** Refusals in this window, by token or address. Bounded by MAX_REFUSED. */
  readonly #refused = new Map<string, number>();
  #windowEnd = 0;

  /** @param tell tells main. @param now monotonic, in ms. */
  constructor(tell: (reports: ActivityReport[]) => void, now = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  /** To be called when a request begins. */
  begin(activity: ActivityName, actor: Actor): Activity {
    return new Activity(activity, actor, (report) => this.#add(report));
  }

  #add(report: ActivityReport): void {
    if (report.outcome === 'refused' && !this.#isTold(report)) return;
    this.#reports.push(report);
    if (this.#reports.length === 1) setImmediate(() => this.#flush());
    if (this.#reports.length >= MAX_TOLD) this.#flush();
  }

  /** Counts a refusal: what costs the client nothing must not fill the stream. */
  #isTold({ token, address }: ActivityReport): boolean {
    const now = this.#now();
    if (now >= this.#windowEnd) {
      this.#refused.clear();
      this.#windowEnd = now + WINDOW_MS;
    }
    const client = token ?? address ?? '';
    const count = this.#refused.get(client) ?? 0;
    if (count === 0 && this.#refused.size >= MAX_REFUSED) return false;
    this.#refused.set(client, count + 1);
    return count < MAX_REFUSALS;
  }

  #flush(): void {
    if (this.#reports.length === 0) return;
    const reports = this.#reports;
    this.#reports = [];
    this.#tell(reports);
  }
}

/** What one request does: its handler says to what. */
export class Activity {
  /** Set by the handler of a route that does several things. */
  name: ActivityName;
  /** What it is done to, if that is no bot. */
  target: string | null = null;
  detail: ActivityReport['detail'] = null;
  /** The bots that it is done to, each with why it was not done; null for one to which it was. */
  readonly bots = new Map<string, string | null>();
  /** Id of the operation that it has become; otherwise main names one that is for many. */
  operation: string | undefined;
  /** It has turned out to change nothing. */
  isReading = false;
  /** Main tells it, bot by bot: here only that it could not be begun. */
  isTold = false;
  /** The request is for as many bots as there are, and not for one. */
  isForMany = false;
  readonly #actor: Actor;
  readonly #report: (report: ActivityReport) => void;
  readonly #beganAt = performance.now();

  constructor(name: ActivityName, actor: Actor, report: (report: ActivityReport) => void) {
    this.name = name;
    this.#actor = actor;
    this.#report = report;
  }

  /** Who it is, for a request that gets its token. */
  signedIn(name: string, token: string): void {
    this.#actor.name = name;
    this.#actor.token = token;
  }

  /** What the path of the route names: a bot, or something else. */
  ofPath(route: RouteName, path: readonly string[]): void {
    const [id] = path;
    if (id === undefined) return;
    if (route.includes('/api/bots/')) this.bots.set(id, null);
    else this.target = path.join('/');
  }

  /** Runs the task, and tells how it has ended. Rejects as it does. */
  async during(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (thrown) {
      this.#end(thrown);
      throw thrown;
    }
    this.#end();
  }

  /** @param thrown why nothing was done; absent when it was. */
  #end(thrown?: unknown): void {
    const status = thrown instanceof DroverError ? ERRORS[thrown.code].status : 500;
    if (this.isReading || (this.isTold && thrown === undefined)) return;
    // What cannot be understood names nothing that was to be done.
    if (thrown !== undefined && (status === 400 || status === 413)) return;
    const error = thrown === undefined ? null : reasonOf(thrown);
    const isRefused = thrown !== undefined && (status === 401 || status === 403 || status === 429);
    const { name, token, address, client } = this.#actor;
    this.#report({
      timestamp_ms: Date.now(),
      activity: this.name,
      actor: name,
      ...{ token, address, client },
      bots: [...this.bots].map(([id, why]) => [id, error ?? why]),
      target: this.target,
      isForMany: this.isForMany,
      operation: this.operation,
      outcome: thrown === undefined ? 'done' : isRefused ? 'refused' : 'failed',
      error,
      took_ms: Math.round(performance.now() - this.#beganAt),
      detail: this.detail,
    });
  }
}

/** Errors that are none of the client's business are only in the service's own log. */
function reasonOf(thrown: unknown): string {
  return thrown instanceof DroverError ? messageOf(thrown) : ERRORS.internal.message;
}
