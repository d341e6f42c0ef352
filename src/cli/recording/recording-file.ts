// The recording of a run: NDJSON with a head, one event per line, and an end.

import { once } from 'node:events';
import {
  createReadStream,
  createWriteStream,
  fchmodSync,
  fstatSync,
  lstatSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import type { StreamEvent } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { write } from '../../shared/terminal.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isStandardOutput, safeJson } from '../terminal/output.js';

const VERSION = 1;
/** A recording has everything that bots said. */
const PRIVATE = 0o600;

/** The first line of a recording. */
export interface RecordingHead {
  drover_recording: typeof VERSION;
  /** Unix epoch ms, by the clock of the recording machine. */
  started_at_ms: number;
  url: string;
  /** The query that selected the events (docs/QUERY.md); null if all were recorded. */
  filter: string | null;
}

/** An event with its arrival time in Unix epoch ms, by the clock of the recording machine. */
export type RecordedEvent = StreamEvent & { at_ms: number };

/** The last line of a recording. */
export interface RecordingEnd {
  /** What ended it. */
  by: 'command' | 'time' | 'signal' | 'error';
  run_ms: number;
  events: number;
  /** Number of gap events. */
  gaps: number;
  /** How often the connection broke. Without a gap event, nothing was lost by it. */
  disconnects: number;
  /** Why the end of the run is not recorded; null if it is. */
  missing: string | null;
}

/** The `event` of the last line. */
const END = 'end';

/** Owns the file until {@link end} or {@link discard}. */
export class RecordingWriter {
  readonly #path: string;
  readonly #file: Writable;
  readonly #startedAtMs: number;
  events = 0;
  #fault: unknown;
  #gaps = 0;

  private constructor(path: string, file: Writable, startedAtMs: number) {
    this.#path = path;
    this.#file = file;
    this.#startedAtMs = startedAtMs;
    file.on('error', (error) => {
      this.#fault = error;
    });
  }

  /**
   * @param path `-` is standard output.
   * @throws CliError if the file exists (unless `replace`) or cannot be written.
   */
  static async open(
    path: string,
    head: Omit<RecordingHead, 'drover_recording'>,
    replace: boolean,
  ): Promise<RecordingWriter> {
    const file = isStandardOutput(path) ? process.stdout : await openFile(path, replace);
    const writer = new RecordingWriter(path, file, head.started_at_ms);
    await writer.#write(`${safeJson({ drover_recording: VERSION, ...head })}\n`);
    return writer;
  }

  /** @throws CliError if a write failed. */
  async write(events: readonly StreamEvent[]): Promise<void> {
    const at_ms = Date.now();
    this.events += events.length;
    for (const { event } of events) if (event === 'gap') this.#gaps++;
    await this.#write(events.map((event) => `${safeJson({ at_ms, ...event })}\n`).join(''));
  }

  /** Writes the last line; resolves when everything is written. @throws CliError if a write failed. */
  async end(how: Pick<RecordingEnd, 'by' | 'disconnects' | 'missing'>): Promise<RecordingEnd> {
    const at_ms = Date.now();
    const run_ms = at_ms - this.#startedAtMs;
    const data = { ...how, run_ms, events: this.events, gaps: this.#gaps };
    await this.#write(`${safeJson({ at_ms, event: END, data })}\n`);
    await this.#close();
    this.#check();
    return data;
  }

  /** Closes and deletes the file; a device or a pipe is only closed. */
  async discard(): Promise<void> {
    await this.#close();
    if (this.#file === process.stdout) return;
    if (lstatSync(this.#path, { throwIfNoEntry: false })?.isFile()) rmSync(this.#path);
  }

  async #close(): Promise<void> {
    // The command flushes standard output at its end.
    if (this.#file === process.stdout) return;
    const closed = this.#file.closed ? undefined : once(this.#file, 'close').catch(() => {});
    this.#file.end();
    await closed;
  }

  async #write(text: string): Promise<void> {
    this.#check();
    if (!write(this.#file, text)) await once(this.#file, 'drain').catch(() => {});
    this.#check();
  }

  #check(): void {
    if (this.#fault === undefined) return;
    const why = messageOf(this.#fault);
    throw new CliError(EXIT.failed, `cannot write to ${this.#path}: ${why}`);
  }
}

/** @throws CliError. */
async function openFile(path: string, replace: boolean): Promise<Writable> {
  try {
    // A device or a pipe always exists.
    const isExclusive = !replace && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true);
    const file = createWriteStream(path, { flags: isExclusive ? 'wx' : 'w', mode: PRIVATE });
    const [descriptor] = (await once(file, 'open')) as [number];
    // One that it replaces too.
    if (fstatSync(descriptor).isFile()) fchmodSync(descriptor, PRIVATE);
    return file;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'it exists; replace it with --force' : messageOf(thrown);
    throw new CliError(EXIT.usage, `cannot write ${path}: ${why}`);
  }
}

/**
 * Reads a recording and calls `see` for each event with its time since the start in ms. An incomplete last line is ignored: the
 * recorder was killed. @returns its head, and its end if it has one. @throws CliError
 */
export async function readRecording(
  path: string,
  see: (event: RecordedEvent, atMs: number) => void,
): Promise<{ head: RecordingHead; end: RecordingEnd | undefined }> {
  const wrong = (why: string): CliError => new CliError(EXIT.usage, `${path}: ${why}`);
  let head: RecordingHead | undefined;
  let end: RecordingEnd | undefined;
  let number = 0;
  let broken: number | undefined;
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  try {
    for await (const line of lines) {
      number++;
      if (broken !== undefined) throw wrong(`line ${broken} is not an event`);
      if (end) throw wrong(`line ${number} follows the end of the recording`);
      const value = objectIn(line);
      if (!head) {
        if (value?.['drover_recording'] !== VERSION) {
          throw wrong('not a recording of this version; create one with drover record');
        }
        head = value as unknown as RecordingHead;
      } else if (typeof value?.['at_ms'] !== 'number' || typeof value['event'] !== 'string') {
        broken = number;
      } else if (value['event'] === END) {
        end = endIn(value['data']);
        if (!end) throw wrong(`line ${number} is not a valid end of a recording`);
      } else {
        const event = value as unknown as RecordedEvent;
        see(event, Math.max(0, event.at_ms - head.started_at_ms));
      }
    }
  } catch (thrown) {
    throw thrown instanceof CliError ? thrown : wrong(`cannot be read: ${messageOf(thrown)}`);
  }
  if (!head) throw wrong('the file is empty; create a recording with drover record');
  return { head, end };
}

function endIn(data: unknown): RecordingEnd | undefined {
  const { missing, run_ms } = (data ?? {}) as Record<string, unknown>;
  const isEnd = (missing === null || typeof missing === 'string') && typeof run_ms === 'number';
  return isEnd ? (data as RecordingEnd) : undefined;
}

function objectIn(line: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
