// Entry of the worker of a run: wiring only.

import { NoteError, note, saidBy } from './note.js';
import type { Recording } from './recording.js';
import type { Part } from './run-facts.js';
import { openFile } from './run-file.js';
import type { FromRun, RunCalls, ToRun } from './run-messages.js';

/** TypeScript's DOM library has no types for the worker's global scope. */
declare const self: {
  onmessage: (event: MessageEvent) => void;
  postMessage: (message: FromRun) => void;
};

/** Shortest time between two reports of progress, in ms. */
const PART_MS = 100;

let recording: Recording | undefined;

self.onmessage = ({ data }) => {
  const { id, call, args } = data as ToRun;
  answer(id, call, args).then(
    (value) => self.postMessage({ id, value }),
    (thrown: unknown) => self.postMessage({ id, error: saidBy(thrown) }),
  );
};

async function answer(id: number, call: ToRun['call'], args: unknown[]): Promise<unknown> {
  let told = 0;
  const onPart = (part: Part): void => {
    const now = performance.now();
    if (now - told < PART_MS) return;
    told = now;
    self.postMessage({ id, part });
  };
  if (call === 'open') {
    const opened = await openFile((args as Parameters<RunCalls['open']>)[0], onPart);
    recording = opened.recording;
    return opened.facts;
  }
  const of = recording;
  if (!of) throw new NoteError(note('runs.noRecording'));
  switch (call) {
    case 'stop':
      return of.stop();
    case 'again':
      return of.again();
    case 'events':
      return of.events(...(args as Parameters<RunCalls['events']>), onPart);
    case 'stats':
      return of.stats(...(args as Parameters<RunCalls['stats']>), onPart);
    case 'states':
      return of.states(...(args as Parameters<RunCalls['states']>));
    default:
      return of.incidentGroups(...(args as Parameters<RunCalls['incidentGroups']>));
  }
}
