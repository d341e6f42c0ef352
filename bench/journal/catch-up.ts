// One client that resumes from far behind: a raw socket that counts frames and checks that their numbers are contiguous.

import { connect } from 'node:net';
import { FRAME_START } from '../../src/shared/stream/frame.js';

const ID = Buffer.from(`\n${FRAME_START}`);

export const CatchUp = {
  /**
   * Reads `count` events after `lastEventId`.
   * @returns the duration in s. @throws Error if a number is missing, or the stream ends.
   */
  run(url: string, authorization: string, lastEventId: string, count: number): Promise<number> {
    const { hostname, port } = new URL(url);
    const epochBytes = lastEventId.indexOf('-') + 1;
    const first = Number(lastEventId.slice(epochBytes)) + 1;
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `GET /events?snapshot=0 HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\n` +
            `Last-Event-ID: ${lastEventId}\r\n\r\n`,
        );
      });
      let seen = 0;
      let rest: Buffer = Buffer.alloc(0);
      const done = (error?: Error): void => {
        socket.destroy();
        if (error) reject(error);
        else resolve((performance.now() - began) / 1000);
      };
      socket.on('error', done);
      socket.on('close', () => done(new Error('the replay ended')));
      socket.on('data', (bytes: Buffer) => {
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
            socket.removeAllListeners('close');
            done();
            return;
          }
        }
        // Keep the incomplete last line.
        rest = from === -1 ? all.subarray(-ID.length) : all.subarray(from);
      });
    });
  },
};
