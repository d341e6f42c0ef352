// Runs in the command line. Owns the file of a recorded run: NDJSON, a head and then an event on each line.

import { once } from 'node:events';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { StreamEvent } from '../client/index.js';
import { messageOf } from '../errors.js';
import { EXIT } from './exit-codes.js';
import { CliError } from './failure.js';
import { safeJson } from './output.js';

const VERSION = 1;

/** First line of a recording. */
export interface RecordingHead {
  drover_recording: typeof VERSION;
  /** When it was begun, in Unix epoch ms of the machine that recorded. */
  started_at_ms: number;
  url: string;
}

/** An event, and when it arrived: in Unix epoch ms of the machine that recorded. */
export type RecordedEvent = StreamEvent & { at_ms: number };

export class RecordingWriter {
  readonly #path: string;
  readonly #file: WriteStream;
  #fault: unknown;
  events = 0;

  private constructor(path: string, file: WriteStream) {
    this.#path = path;
    this.#file = file;
    file.on('error', (error) => {
      this.#fault = error;
    });
  }

  /** @throws CliError when the file is there already (unless it may be replaced) or cannot be written. */
  static async open(
    path: string,
    head: Omit<RecordingHead, 'drover_recording'>,
    replace: boolean,
  ): Promise<RecordingWriter> {
    const file = createWriteStream(path, { flags: replace ? 'w' : 'wx' });
    try {
      await once(file, 'open');
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      const why =
        code === 'EEXIST' ? 'it is there already; --force replaces it' : messageOf(thrown);
      throw new CliError(EXIT.usage, `${path} cannot be written: ${why}`);
    }
    const writer = new RecordingWriter(path, file);
    await writer.#write(`${safeJson({ drover_recording: VERSION, ...head })}\n`);
    return writer;
  }

  /** @throws CliError when the disk has refused something. */
  async write(events: readonly StreamEvent[]): Promise<void> {
    const at_ms = Date.now();
    this.events += events.length;
    await this.#write(events.map((event) => `${safeJson({ at_ms, ...event })}\n`).join(''));
  }

  /** Resolves when all is written. @throws CliError when the disk has refused something. */
  async close(): Promise<void> {
    const closed = this.#file.closed ? undefined : once(this.#file, 'close').catch(() => {});
    this.#file.end();
    await closed;
    this.#check();
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

/**
 * Reads a recording: its head, and each event with how many ms after the start it came. One that ends in the middle of a line
 * was cut off; what is whole of it counts. @throws CliError.
 */
export async function* readRecording(
  path: string,
): AsyncGenerator<{ event: RecordedEvent; atMs: number }, void, undefined> {
  const wrong = (why: string): CliError => new CliError(EXIT.usage, `${path}: ${why}`);
  let head: RecordingHead | undefined;
  let number = 0;
  let broken: number | undefined;
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  try {
    for await (const line of lines) {
      number++;
      if (broken !== undefined) throw wrong(`line ${broken} is no event`);
      const value = objectIn(line);
      if (!head) {
        if (value?.['drover_recording'] !== VERSION) {
          throw wrong('it is no recording of this version; drover record makes one');
        }
        head = value as unknown as RecordingHead;
      } else if (typeof value?.['at_ms'] !== 'number' || typeof value['event'] !== 'string') {
        broken = number;
      } else {
        const event = value as unknown as RecordedEvent;
        yield { event, atMs: Math.max(0, event.at_ms - head.started_at_ms) };
      }
    }
  } catch (thrown) {
    throw thrown instanceof CliError ? thrown : wrong(`it cannot be read: ${messageOf(thrown)}`);
  }
  if (!head) throw wrong('it is empty; drover record makes a recording');
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
