// All benches.

import { bots } from './bots.js';
import { cluster } from './cluster.js';
import { crowd } from './crowd.js';
import { fanout } from './fanout.js';
import { fanoutTls } from './fanout-tls.js';
import { filters } from './filters.js';
import { fleet } from './fleet.js';
import type { Bench } from './harness/bench.js';
import { http } from './http.js';
import { idle } from './idle.js';
import { idleMemory } from './idle-memory.js';
import { ingest } from './ingest.js';
import { isolation } from './isolation.js';
import { journal } from './journal.js';
import { metrics } from './metrics.js';
import { pinTiming } from './pin-timing.js';
import { processes } from './processes.js';
import { programs } from './programs.js';
import { query } from './query.js';
import { rollouts } from './rollouts.js';
import { rules } from './rules.js';
import { slope } from './slope.js';
import { slowClients } from './slow-clients.js';

export const BENCHES: readonly Bench[] = [
  http,
  fanout,
  fanoutTls,
  isolation,
  filters,
  ingest,
  programs,
  processes,
  slowClients,
  crowd,
  idleMemory,
  idle,
  slope,
  bots,
  fleet,
  rollouts,
  journal,
  query,
  rules,
  pinTiming,
  metrics,
  cluster,
];
