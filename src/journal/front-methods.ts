// The methods of the journal for fronts. The bytes of an answer are transferred, not copied.

import { Handover, type Serves } from '../shared/contract/rpc.js';
import type { JournalFrontMethods } from '../shared/contract/threads.js';
import type { Answers } from './requests.js';

export function frontMethods(answers: Answers): Serves<JournalFrontMethods> {
  return {
    async replay(request, cancelled) {
      const part = await answers.replay(request, cancelled);
      // The whole buffer, even if the part does not fill it: the front returns it for another part.
      return new Handover(part, [part.bytes.buffer as ArrayBuffer]);
    },
    async page(request, cancelled) {
      return Handover.bytes(await answers.page(request, cancelled), 'body');
    },
    async states(request, cancelled) {
      return Handover.bytes(await answers.states(request, cancelled), 'body');
    },
    async stats(request, cancelled) {
      return Handover.bytes(await answers.stats(request, cancelled), 'body');
    },
    async fieldHistory(request, cancelled) {
      return Handover.bytes(await answers.fieldHistory(request, cancelled), 'body');
    },
  };
}
