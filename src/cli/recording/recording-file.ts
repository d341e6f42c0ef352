// Runs in the command line. Owns the file of a recorded run: NDJSON, a head, then an event on each line, and an end.

import { once } from 'node:events';
import { createReadStream, createWriteStream, lstatSync, rmSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import type { EventFilter, StreamEvent } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isStandardOutput, safeJson } from '../terminal/output.js';

const VERSION = 1;

/** First line of a recording. */
export interface RecordingHead {
  drover_recording: typeof VERSION;
  /** When it was begun, in Unix epoch ms of the machine that recorded. */
  started_at_ms: number;
  url: string;
  /** What was left out while it was recorded is not in it; null when all of it was recorded. */
  filter: EventFilter | null;
}

/** An event, and when it arrived: in Unix epoch ms of the machine that recorded. */
export type RecordedEvent = StreamEvent & { at_ms: number };

/** What the last line of a recording says of all of it. */
export interface RecordingEnd {
  /** What ended it. */
  by: 'command' | 'time' | 'signal' | 'error';
  run_ms: number;
  events: number;
  /** How often the stream said that something was lost. */
  gaps: number;
  /** How often the connection broke. What came after it without a gap has lost nothing. */
  disconnects: number;
  /** Why there was more than is recorded; null when there was not. */
  missing: string | null;
}

/** The name of the last line, in the place of an event's. */
const END = 'end';

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
   * @param path - is standard output.
   * @throws CliError when the file is there already (unless it may be replaced) or cannot be written.
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

  /** @throws CliError when the disk has refused something. */
  async write(events: readonly StreamEvent[]): Promise<void> {
    const at_ms = Date.now();
    this.events += events.length;
    for (const { event } of events) if (event === 'gap') this.#gaps++;
    await this.#write(events.map((event) => `${safeJson({ at_ms, ...event })}\n`).join(''));
  }

  /** Writes the end, and resolves when all is written. @throws CliError when the disk has refused something. */
  async end(how: Pick<RecordingEnd, 'by' | 'disconnects' | 'missing'>): Promise<RecordingEnd> {
    const at_ms = Date.now();
    const run_ms = at_ms - this.#startedAtMs;
    const data = { ...how, run_ms, events: this.events, gaps: this.#gaps };
    await this.#write(`${safeJson({ at_ms, event: END, data })}\n`);
    await this.#close();
    this.#check();
    return data;
  }

  /** There is nothing that was recorded: the file goes. What is no file, a device, stays. */
  async discard(): Promise<void> {
    await this.#close();
    if (this.#file === process.stdout) return;
    if (lstatSync(this.#path, { throwIfNoEntry: false })?.isFile()) rmSync(this.#path);
  }

  async #close(): Promise<void> {
    // It is written out at the end of the command, and there may be more to say on it.
    if (this.#file === process.stdout) return;
    const closed = this.#file.closed ? undefined : once(this.#file, 'close').catch(() => {});
    this.#file.end();
    await closed;
  }

  async #write(text: string): Promise<void> {
    this.#check();
    if (!this.#file.write(text)) await once(this.#file, 'drain').catch(() => {});
    this.#check();
  }

  #check(): void {
    if (this.#fault === undefined) return;
    const why = messageOf(this.#fault);
    throw new CliError(EXIT.failed, `${this.#path} cannot be written any further: ${why}`);
  }
}

/** @throws CliError. */
async function openFile(path: string, replace: boolean): Promise<Writable> {
  try {
    // A device or a pipe is always there.
    const isKept = !replace && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true);
    const file = createWriteStream(path, { flags: isKept ? 'wx' : 'w' });
    await once(file, 'open');
    return file;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'it is there already; --force replaces it' : messageOf(thrown);
    throw new CliError(EXIT.usage, `${path} cannot be written: ${why}`);
  }
}

/**
 * Reads a recording: hands on each event with how many ms after the start it came. One that ends in the middle of a line was
 * cut off; what is whole of it counts. @returns its head, and its end, undefined when it has none. @throws CliError.
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
      if (broken !== undefined) throw wrong(`line ${broken} is no event`);
      if (end) throw wrong(`line ${number} stands behind its end`);
      const value = objectIn(line);
      if (!head) {
        if (value?.['drover_recording'] !== VERSION) {
          throw wrong('it is no recording of this version; drover record makes one');
        }
        head = value as unknown as RecordingHead;
      } else if (typeof value?.['at_ms'] !== 'number' || typeof value['event'] !== 'string') {
        broken = number;
      } else if (value['event'] === END) {
        end = endIn(value['data']);
        if (!end) throw wrong(`line ${number} is no end of a recording of this version`);
      } else {
        const event = value as unknown as RecordedEvent;
        see(event, Math.max(0, event.at_ms - head.started_at_ms));
      }
    }
  } catch (thrown) {
    throw thrown instanceof CliError ? thrown : wrong(`it cannot be read: ${messageOf(thrown)}`);
  }
  if (!head) throw wrong('it is empty; drover record makes a recording');
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
