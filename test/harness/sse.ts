// An SSE client as a user would write it, on node:http and eventsource-parser.

import http from 'node:http';
import { createParser } from 'eventsource-parser';
import type { ServiceApi } from './api.js';
import { expectDescribedEvent } from './described.js';
import { PATIENCE_MS } from './patience.js';

/** One frame as a client sees it. */
export interface Frame {
  /** Undefined when the frame carried no `event:` (the default message event). */
  event: string | undefined;
  id: string | undefined;
  data: string;
  json: unknown;
}

export interface StreamOptions {
  /** Sent as `Authorization: Bearer`. */
  token?: string;
  headers?: Record<string, string>;
  /** Its events are validated against the OpenAPI document. Default true. */
  isDescribed?: boolean;
}

interface Watcher {
  check(): void;
  fail(why: string): void;
}

/** An open stream. It keeps all frames, so that a wait also finds earlier ones. */
export class SseStream {
  readonly frames: Frame[] = [];
  readonly comments: string[] = [];
  readonly response: http.IncomingMessage;
  /** Resolves at the end of the stream: true when its body ended properly, false when it was cut. */
  readonly ended: Promise<boolean>;
  /** The server's `retry:` value, in milliseconds. */
  retry: number | undefined;
  /** Id at which the stream started: that of its last snapshot, which the frame here does not have, or of a comment. */
  position: string | undefined;
  /** Errors of the parser. Empty for a conforming stream. */
  readonly faults: string[] = [];
  readonly #chunks: Buffer[] = [];
  readonly #watchers = new Set<Watcher>();
  #over = false;

  /**
   * @param isDescribed its events are validated against the OpenAPI document.
   * @param resumes it was opened with a last event id.
   */
  constructor(response: http.IncomingMessage, isDescribed = true, resumes = false) {
    this.response = response;
    const parser = createParser({
      onEvent: ({ event, id, data }) => {
        const json = parseJson(data);
        if (isDescribed) expectDescribedEvent(event, json);
        // Snapshots without an id come first even if the service ignores the id of the request.
        const isStart = this.position === undefined && (!resumes || this.frames.length > 0);
        const isLastSnapshot = isStart && event === 'session';
        this.position ??= id;
        this.frames.push({ event, id: isLastSnapshot ? undefined : id, data, json });
      },
      onComment: (comment) => {
        this.comments.push(comment);
        this.position ??= /^position (\S+)$/.exec(comment)?.[1];
      },
      onRetry: (retry) => {
        this.retry = retry;
      },
      onError: (error) => this.faults.push(error.message),
    });
    const decoder = new TextDecoder('utf-8', { fatal: true });
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const watcher of [...this.#watchers]) watcher.check();
    });
    this.ended = new Promise((resolve) => {
      response.on('error', () => {});
      response.on('close', () => {
        this.#over = true;
        for (const watcher of [...this.#watchers]) watcher.fail('the stream ended');
        resolve(response.complete);
      });
    });
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** All bytes of the body so far, as text. */
  get raw(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  /** The first frame that the predicate accepts, earlier ones included. */
  async waitFor(predicate: (frame: Frame) => boolean, timeoutMs = PATIENCE_MS): Promise<Frame> {
    let next = 0;
    let found: Frame | undefined;
    await this.until(() => {
      for (; next < this.frames.length && !found; next++) {
        const frame = this.frames[next];
        if (frame && predicate(frame)) found = frame;
      }
      return found !== undefined;
    }, timeoutMs);
    return found as Frame;
  }

  /** Waits until the condition holds. It is checked with every piece that arrives. */
  until(condition: () => boolean, timeoutMs = PATIENCE_MS): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(watcher);
      };
      const watcher: Watcher = {
        check: () => {
          if (!condition()) return;
          done();
          resolve();
        },
        fail: (why) => {
          done();
          const tail = this.frames.slice(-5).map((frame) => `${frame.event} ${frame.data}`);
          reject(new Error(`${why}; ${this.frames.length} frames, the last:\n${tail.join('\n')}`));
        },
      };
      const timer = setTimeout(() => watcher.fail('no match in time'), timeoutMs);
      this.#watchers.add(watcher);
      if (this.#over) watcher.fail('the stream had ended');
    });
  }

  close(): void {
    this.response.destroy();
  }
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Sends a GET and resolves with the response head, regardless of its status. The caller reads the body. */
export function get(url: string, headers: Record<string, string>): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    http.get(url, { headers, agent: false }, resolve).on('error', reject);
  });
}

/** Opens a stream. @throws Error when the status is not 200. */
export async function openStream(url: string, options: StreamOptions = {}): Promise<SseStream> {
  return streamFrom(await get(url, headersOf(options)), url, options);
}

/** Opens a stream of any service. */
export async function streamOn(
  service: ServiceApi,
  target: string,
  options: StreamOptions = {},
): Promise<SseStream> {
  return streamFrom(await service.open(target, headersOf(options)), target, options);
}

function headersOf({ headers, token }: StreamOptions): Record<string, string> {
  const all: Record<string, string> = { accept: 'text/event-stream', ...headers };
  if (token !== undefined) all.authorization = `Bearer ${token}`;
  return all;
}

function streamFrom(
  response: http.IncomingMessage,
  target: string,
  { isDescribed, headers = {} }: StreamOptions,
): SseStream {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Error(`the stream answered ${response.statusCode}`);
  }
  const names = [target, ...Object.keys(headers)].join(' ').toLowerCase();
  return new SseStream(response, isDescribed, /last[-_]?event[-_]?id/.test(names));
}
