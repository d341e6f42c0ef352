// All benches.

import { bots } from './bots.js';
import { crowd } from './crowd.js';
import { fanout } from './fanout.js';
import type { Bench } from './harness/bench.js';
import { http } from './http.js';
import { idleMemory } from './idle-memory.js';
import { ingest } from './ingest.js';
import { isolation } from './isolation.js';
import { journal } from './journal.js';
import { metrics } from './metrics.js';
import { pinTiming } from './pin-timing.js';
import { slowClients } from './slow-clients.js';

export const BENCHES: readonly Bench[] = [
  http,
  fanout,
  isolation,
  ingest,
  slowClients,
  crowd,
  idleMemory,
  bots,
  journal,
  pinTiming,
  metrics,
];
