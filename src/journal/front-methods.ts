// Runs in the journal thread. Owns how the journal's answers go to a front: their bytes are handed over, not copied.

import { Handover, type Serves } from '../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../shared/contract/threads.js';
import type { Answers } from './requests.js';

export function frontMethods(answers: Answers): Serves<JournalFrontMethods> {
  return {
    async replay(request, cancelled) {
      const part = await answers.replay(request, cancelled);
      // All of its memory, though it does not fill it: it comes back for another part.
      return new Handover(part, [part.bytes.buffer as ArrayBuffer]);
    },
    async page(request, cancelled) {
      return Handover.bytes(await answers.page(request, cancelled), 'body');
    },
    async stats(request, cancelled) {
      return Handover.bytes(await answers.stats(request, cancelled), 'body');
    },
  };
}
