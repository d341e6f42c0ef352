// Runs in tabs. Owns the worker of one opened run, and its pending requests.

import { scriptUrl } from '../hub/script-url.js';
import { NoteError, note } from './note.js';
import type { Part } from './run-facts.js';
import type { FromRun, RunCall, RunCalls, ToRun } from './run-messages.js';
import workerUrl from './run-worker.ts?worker&url';

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  onPart: (part: Part) => void;
}

export class RunLink {
  readonly #worker = new Worker(scriptUrl(workerUrl), { type: 'module' });
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #fault: Error | undefined;

  constructor() {
    this.#worker.onmessage = ({ data }) => this.#take(data as FromRun);
    this.#worker.onerror = () => this.#fail(new NoteError(note('runs.workerEnded')));
  }

  /** @param onPart gets the progress. */
  ask<C extends RunCall>(
    call: C,
    args: Parameters<RunCalls[C]>,
    onPart: (part: Part) => void = () => {},
  ): Promise<ReturnType<RunCalls[C]>> {
    if (this.#fault) return Promise.reject(this.#fault);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject, onPart });
      this.#worker.postMessage({ id, call, args } satisfies ToRun);
    });
  }

  close(): void {
    this.#worker.terminate();
    this.#fail(new NoteError(note('runs.closed')));
  }

  #take(message: FromRun): void {
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    if ('part' in message) {
      waiting.onPart(message.part);
      return;
    }
    this.#waiting.delete(message.id);
    if ('error' in message) waiting.reject(new NoteError(message.error));
    else waiting.resolve(message.value);
  }

  #fail(error: Error): void {
    this.#fault = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
