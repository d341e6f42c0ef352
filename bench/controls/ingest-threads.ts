// Runs in the two threads of controls/ingest-bare.ts: one packs batches; the other unpacks them, builds frames and writes them
// to a buffer.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Packr } from 'msgpackr';
import { eventId, sseFrame } from '../../src/shared/stream/frame.js';

/** The data of each thread. */
export interface IngestThread {
  role: 'packs' | 'writes';
  port: MessagePort;
  /** Cell 0: bytes in flight. Cell 1: frames written. Cell 2: 1 while there is load. */
  cells: SharedArrayBuffer;
  messageBytes: number;
}

const BATCH = 64;
const MOST_IN_FLIGHT = 8 * 1024 * 1024;
const RING_BYTES = 64 * 1024 * 1024;
const LARGEST_FRAME = 64 * 1024;

const { role, port, cells: shared, messageBytes } = workerData as IngestThread;
const cells = new Int32Array(shared);
const packr = new Packr({ useRecords: true });

function pack(): void {
  const filler = 'x'.repeat(messageBytes);
  let sent = 0;
  const turn = (): void => {
    for (let batches = 0; batches < 16; batches++) {
      if (Atomics.load(cells, 2) === 0) return;
      if (Atomics.load(cells, 0) > MOST_IN_FLIGHT) break;
      const items: object[] = [];
      for (let n = 0; n < BATCH; n++) {
        const number = `${++sent} `;
        items.push({
          kind: 'log',
          timestamp_ms: Date.now(),
          level: 'info',
          scope: 'bot',
          session_id: 'load',
          transport: null,
          direction: null,
          message: number + filler.slice(number.length),
        });
      }
      const bytes = new Uint8Array(packr.pack(items));
      Atomics.add(cells, 0, bytes.byteLength);
      port.postMessage(bytes, [bytes.buffer]);
    }
    setImmediate(turn);
  };
  parentPort?.on('message', turn);
}

function write(): void {
  const ring = Buffer.from(new SharedArrayBuffer(RING_BYTES));
  let seq = 0;
  let at = 0;
  port.on('message', (bytes: Uint8Array) => {
    const items = packr.unpack(bytes) as { timestamp_ms: number; message: string }[];
    for (const { timestamp_ms: time, message } of items) {
      if (at > RING_BYTES - LARGEST_FRAME) at = 0;
      const json =
        `{"timestamp_ms":${time},"level":"info","scope":"bot","session_id":"load","transport":null,` +
        `"direction":null,"message":${JSON.stringify(message)}}`;
      at += ring.write(sseFrame(eventId('0123456789', ++seq), 'log', json), at, 'utf8');
    }
    Atomics.add(cells, 1, items.length);
    Atomics.sub(cells, 0, bytes.byteLength);
  });
}

if (role === 'packs') pack();
else write();
