// Runs in main. Owns run.json in the data directory: how this run of the service began, and, for the next one, how it ended.

import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../shared/contract/config.js';
import { messageOf } from '../../shared/errors.js';
import { complain } from '../../shared/terminal.js';

const FILE = 'run.json';
/** How many of the bots that were started last are remembered. */
const MAX_STARTED = 20;
/** The file is padded to this length, so that each write replaces all of it. Twenty ids of 64 characters fit. */
const FILE_BYTES = 4096;
/** Unclean ends within this time count together, in ms. */
const LOOP_MS = 60_000;
/** Kinds whose digests are remembered, in UTF-16 units of JSON: the rest of the file is for the bots. */
const MAX_KIND_UNITS = 2000;

type StartMode = Config['start']['bots'];

/** The content of run.json. */
interface Run {
  began_at_ms: number;
  is_clean: boolean;
  mode: StartMode;
  /** When runs after an unclean end began, within LOOP_MS, oldest first. */
  unclean_ms: number[];
  /** The bots that requests started last, oldest first, in this run and in those before. */
  started_last: string[];
  /** The versions that it ran; absent in a file of an earlier version. */
  deployed?: Deployed;
}

/** The versions of Drover and of the kinds in one run of the service. */
export interface Deployed {
  /** The version of Drover. */
  version: string;
  /** A digest of the file of each kind, by kind, as many as fit the file. */
  kinds: Record<string, string>;
}

/**
 * What a run leaves to the next one. A bot can end the process in ways that no thread survives: native code that crashes, memory
 * that only the system takes back. Nothing can be reported then. So each run writes down which bots were started last before they
 * start, and the next one tells. When such ends repeat, the bots that were started last stay stopped; when they still repeat, all do.
 */
export class RunRecord {
  readonly #run: Run;
  /** Null when the last run ended cleanly, or there was none. */
  readonly #previous: Run | null;
  readonly #deployedBefore: Deployed | null;
  readonly #path: string;
  /** Why bots are left out at this start, in a line; empty when none are. */
  readonly #why: string;
  #file: number | undefined;
  #isDue = false;
  #hasFailed = false;

  /** Reads what the last run has left. Nothing is written before {@link begin}. @param now Unix epoch milliseconds. */
  constructor(dataDir: string, { bots, safe_after }: Config['start'], now: number) {
    this.#path = join(dataDir, FILE);
    const last = readRun(this.#path);
    this.#previous = last && !last.is_clean ? last : null;
    this.#deployedBefore = last?.deployed ?? null;
    const unclean_ms = this.#previous ? [...this.#previous.unclean_ms, now] : [];
    const recent = unclean_ms.filter((at) => at > now - LOOP_MS);
    // A copy, because this run adds its own bots.
    const started_last = [...(last?.started_last ?? [])];
    const isLoop = bots === 'auto' && recent.length >= safe_after;
    // Leaving out the last bots did not help, so it may be any bot.
    const isSafe = this.#previous?.mode === 'all' && started_last.length > 0;
    const asked = bots === 'auto' ? 'all' : bots;
    const mode = isLoop ? (isSafe ? 'safe' : 'none') : asked;
    this.#why = isLoop
      ? `the service has ended uncleanly ${recent.length} times within a minute`
      : `start.bots is ${mode}`;
    this.#run = { began_at_ms: now, is_clean: false, mode, unclean_ms: recent, started_last };
  }

  /** From now on the run counts as unclean until {@link end}. */
  begin(): void {
    try {
      // Not truncated to nothing: on a full disk there would be no room for it any more.
      this.#file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      ftruncateSync(this.#file, FILE_BYTES);
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#write();
  }

  /** @param kinds the digest of the file of each. @returns what runs now, and what is other than in the last run, in a line. */
  deployed(version: string, kinds: ReadonlyMap<string, string>): string {
    const before = this.#deployedBefore;
    const kept: Record<string, string> = {};
    let units = 0;
    for (const [kind, digest] of kinds) {
      units += kind.length + digest.length + '"":"",'.length;
      if (units <= MAX_KIND_UNITS) kept[kind] = digest;
    }
    this.#run.deployed = { version, kinds: kept };
    this.#write();
    const changed = Object.keys(kept).filter(
      (kind) => before !== null && kept[kind] !== before.kinds[kind],
    );
    const from = before && before.version !== version ? `, before it ${before.version}` : '';
    const news = changed.length > 0 ? `; new code of bot kinds: ${changed.join(', ')}` : '';
    return `the service has started: Drover ${version}${from}${news}`;
  }

  /** A request is about to start this bot. */
  started(id: string): void {
    const { started_last } = this.#run;
    const known = started_last.indexOf(id);
    if (known >= 0) started_last.splice(known, 1);
    started_last.push(id);
    if (started_last.length > MAX_STARTED) started_last.shift();
    if (this.#isDue) return;
    this.#isDue = true;
    // Many bots may start in one turn, and none runs before its end.
    queueMicrotask(() => {
      this.#isDue = false;
      this.#write();
    });
  }

  /** To be called at the end of an orderly shutdown. */
  end(): void {
    if (this.#file === undefined) return;
    this.#run.is_clean = true;
    this.#write();
    closeSync(this.#file);
    this.#file = undefined;
  }

  /** What is known of the last run, in a line; null when it ended cleanly. */
  get uncleanEnd(): string | null {
    if (!this.#previous) return null;
    const { began_at_ms, started_last } = this.#previous;
    const bots = started_last.toReversed().slice(0, 5).join(', ');
    const started = bots === '' ? '' : `; the bots that requests started last: ${bots}`;
    return `the last run of the service, since ${new Date(began_at_ms).toISOString()}, did not end cleanly: it crashed, was killed, or the machine went down${started}`;
  }

  /** Which bots are not started, and why, in a line; null when all are. */
  get restriction(): string | null {
    const { mode, started_last } = this.#run;
    if (mode === 'all') return null;
    if (mode === 'none') return `no bots are started, because ${this.#why}`;
    return `the bots that requests started last are not started, because ${this.#why}: ${started_last.join(', ') || 'there are none'}`;
  }

  /** Why a bot is not started with the service; null when it is. */
  holdOf(id: string): string | null {
    const { mode, started_last } = this.#run;
    if (mode === 'all' || (mode === 'safe' && !started_last.includes(id))) return null;
    return `not started: ${this.restriction}`;
  }

  /** Writes in one piece: if the process ends meanwhile, the file has the old content or the new. */
  #write(): void {
    if (this.#file === undefined) return;
    try {
      writeSync(this.#file, JSON.stringify(this.#run).padEnd(FILE_BYTES), 0);
      this.#hasFailed = false;
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** The service runs on without the record. */
  #fail(thrown: unknown): void {
    if (!this.#hasFailed) complain(`${this.#path} cannot be written: ${messageOf(thrown)}`);
    this.#hasFailed = true;
  }
}

/** Null when the file does not exist or is no run record. */
function readRun(path: string): Run | null {
  try {
    const run = JSON.parse(readFileSync(path, 'utf8')) as Partial<Run> | null;
    const { began_at_ms, is_clean, mode, unclean_ms, started_last } = run ?? {};
    const isRun =
      Number.isSafeInteger(began_at_ms) &&
      typeof is_clean === 'boolean' &&
      typeof mode === 'string' &&
      isListOf(unclean_ms, 'number') &&
      isListOf(started_last, 'string');
    return isRun ? (run as Run) : null;
  } catch {
    return null;
  }
}

function isListOf(value: unknown, type: 'number' | 'string'): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === type);
}
