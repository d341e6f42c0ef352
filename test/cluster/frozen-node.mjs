// A node in a process, which a test freezes: node frozen-node.mjs <name> <server> <lease_ms> <data directory>. Of the build.

import { LeaseFence } from '../../dist/src/bot-host/fence.js';
import { Membership } from '../../dist/src/cluster/control/membership.js';
import { NatsLink } from '../../dist/src/cluster/wire/connect.js';
import { Signer } from '../../dist/src/cluster/wire/signer.js';

const [, , node, server, leaseMs, dir] = process.argv;
const config = {
  servers: [server],
  name: 'test',
  node,
  labels: {},
  credentials: null,
  tls: { ca: null, cert: null, key: null },
  lease_ms: Number(leaseMs),
};
const figures = { bots: 0, running: 0, streams: 0, cpu: 0, memory_mb: 0, unpublished: 0 };
const tell = (what) => process.send?.(what);
let isRefused = false;

const link = new NatsLink({ config, name: node, onChange: () => membership.linkChanged() });
const membership = new Membership({
  config,
  link,
  dir,
  incarnation: `${process.pid}`,
  startedAtMs: Date.now(),
  stopGraceMs: 200,
  replicas: 1,
  signer: Signer.NONE,
  describe: () => ({ address: null, kinds: [], figures }),
  hasBots: () => false,
  removed: { has: () => false, identity: async () => undefined, forget: async () => {} },
  events: {
    onHeld() {
      isRefused = false;
      tell('held');
    },
    onExpiring: async () => tell('expiring'),
    onLost: async () => tell('lost'),
    onDeadline() {},
    onElected() {},
    onDeposed() {},
    onStatus() {},
    onRemoved() {},
    say() {},
  },
});

// Each turn of the loop: the first thing that runs when the process wakes.
const fence = new LeaseFence(membership.shared);
function send() {
  if (membership.isHeld && !isRefused) {
    try {
      fence.check();
    } catch {
      isRefused = true;
      tell('refused');
    }
  }
  setTimeout(send, 1);
}
await membership.start();
send();
