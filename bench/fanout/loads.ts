// The loads of the fan-out benches.

import type { StreamWork } from '../streams/measurement.js';

type Load = Pick<StreamWork, 'streams' | 'load' | 'sample'>;

const STREAMS = 1_000;
/** Gives a frame of about 220 bytes. */
export const MESSAGE_BYTES = 52;

export const BATCHED: Load = {
  streams: STREAMS,
  load: { rate: 10_000, messageBytes: MESSAGE_BYTES, form: 'batched' },
  sample: 3,
};
export const STEADY: Load = {
  streams: STREAMS,
  load: { rate: 1_000, messageBytes: MESSAGE_BYTES, form: 'batched' },
  sample: 10,
};
export const UNBATCHED: Load = {
  streams: STREAMS,
  load: { rate: 100, messageBytes: MESSAGE_BYTES, form: 'unbatched' },
  sample: 10,
};
