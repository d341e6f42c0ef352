// Run by `npm run long -- fuzz`: the long form of fuzz.test.ts on both engines, of what queries and masks can cost, and of the fuzz of the
// pipes between bot host processes and the service, with progress, a summary, and exit code 0 on success. The part bus, what comes over
// NATS, needs nats-server and is run only when it is asked for.
//
//   npm run long -- fuzz --seed 7 --cases 100000 --engine node --part http

import { expectWhole, optionsOf, runFiles } from '../long-form.mjs';

const options = {
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  cases: { type: 'string', default: '100000' },
  // The projects of vitest.config.ts: uws is node:http too where no binary loads.
  engine: { type: 'string', default: 'uws,node' },
  // http, cost, pipe; all of them by default. Or bus.
  part: { type: 'string' },
};

const values = optionsOf('fuzz', options, (given) => {
  expectWhole(given, ['seed', 'cases']);
  // Queries and pipes are no matter of the engine: they are tried in the project uws.
  given.part ??= given.engine.includes('uws') ? 'http,cost,pipe' : 'http';
  if (!/^(bus|(http|cost|pipe)(,(http|cost|pipe)){0,2})$/.test(given.part)) {
    throw new Error(
      '--part must be bus; or http, cost or pipe, or some of them with commas between them',
    );
  }
  if (!/^(uws|node)(,(uws|node))?$/.test(given.engine)) {
    throw new Error('--engine must be uws or node, or both with a comma between them');
  }
  if (/cost|pipe/.test(given.part) && !given.engine.includes('uws')) {
    throw new Error('the parts cost and pipe need --engine uws');
  }
});

process.env.FUZZ_SEED = values.seed;
process.env.FUZZ_CASES = values.cases;
// Each needs its own process.
process.env.FUZZ_WIRE_CASES = String(Math.ceil(Number(values.cases) / 1000));
// Each round of them looks at everything.
process.env.FUZZ_BUS_CASES = String(Math.ceil(Number(values.cases) / 10));
process.env.FUZZ_PROGRESS = 'true';

const FILES = {
  http: ['test/fuzz/fuzz.test.ts'],
  cost: ['test/unit/shared/query/cost.test.ts', 'test/unit/bot-host/secret-starts.test.ts'],
  bus: ['test/cluster/bus-fuzz.test.ts'],
  pipe: ['test/unit/host-relay/pipe-fuzz.test.ts', 'test/integration/process-intruder.test.ts'],
};

const files = values.part.split(',').flatMap((part) => FILES[part]);
const isBus = values.part === 'bus';
await runFiles(
  files,
  {
    fileParallelism: false,
    project: isBus ? ['cluster'] : values.engine.split(','),
    ...(isBus && { config: 'test/cluster/vitest.config.ts' }),
  },
  (held) =>
    `fuzz ${held ? 'held' : 'FAILED'}: ${values.part}, ${values.cases} cases on ${isBus ? 'NATS' : values.engine}, seed ${values.seed}`,
);
