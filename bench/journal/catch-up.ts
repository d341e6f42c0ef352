// One client that resumes from far behind: it counts frames and checks that their numbers are contiguous. Node's parser takes the
// chunks apart: a frame may be in several.

import { get } from 'node:http';
import { FRAME_START } from '../../src/shared/stream/frame.js';

const ID = Buffer.from(`\n${FRAME_START}`);

export const CatchUp = {
  /**
   * Reads `count` events after `lastEventId`.
   * @returns the duration in s. @throws Error if a number is missing, or the stream ends.
   */
  run(url: string, authorization: string, lastEventId: string, count: number): Promise<number> {
    const epochBytes = lastEventId.indexOf('-') + 1;
    const first = Number(lastEventId.slice(epochBytes)) + 1;
    const began = performance.now();
    return new Promise((resolve, reject) => {
      let seen = 0;
      let rest: Buffer = Buffer.alloc(0);
      const done = (error?: Error): void => {
        request.destroy();
        if (error) reject(error);
        else resolve((performance.now() - began) / 1000);
      };
      const take = (bytes: Buffer): void => {
        const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
        let at = all.indexOf(ID);
        let from = at;
        for (; at !== -1; at = all.indexOf(ID, at + ID.length)) {
          const end = all.indexOf(10, at + ID.length);
          from = at;
          if (end === -1) break;
          const seq = Number(all.toString('latin1', at + ID.length + epochBytes, end));
          if (seq !== first + seen) {
            done(new Error(`${seq} arrived instead of ${first + seen}`));
            return;
          }
          seen += 1;
          from = end;
          if (seen === count) {
            done();
            return;
          }
        }
        // Keep the incomplete last line.
        rest = from === -1 ? all.subarray(-ID.length) : all.subarray(from);
      };
      const headers = { authorization, 'last-event-id': lastEventId };
      const request = get(`${url}/events?snapshot=0`, { agent: false, headers }, (response) => {
        response.on('data', take);
        response.on('close', () => done(new Error('the replay ended')));
      });
      // After the end of the promise it has no effect.
      request.on('error', done);
    });
  },
};
