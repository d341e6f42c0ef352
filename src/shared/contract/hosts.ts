// JSON Schemas of the bot hosts, for `GET /api/hosts`.

import { nullable, oneOf } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** A host that does not beat for this long while its code runs hangs, in ms. It beats ten times a second. */
export const HANGS_MS = 750;

const HOST = {
  host: 0,
  node: null,
  isolation: 'thread',
  state: 'working',
  bots: 3,
  silent_ms: 40,
  delay_ms: 2,
  cpu: 0.04,
  heap: { used_bytes: 21233664, limit_bytes: 536870912 },
};

/** One bot host as main sees it, which waits for no host. */
export const HostInfo = Type.Object(
  {
    host: Type.Integer({ minimum: 0, description: 'Its number, as in the snapshots of its bots.' }),
    node: nullable(Type.String(), 'The node of a cluster that it is on; null in a single service.'),
    isolation: oneOf(['thread', 'process'], { description: 'What it runs in.' }),
    state: oneOf(['starting', 'idle', 'working', 'hangs', 'retiring', 'ending'], {
      description: `\`starting\`: it takes no bots yet. \`idle\`: nothing runs in it at present. \`working\`. \`hangs\`: its code runs, and there was no heartbeat for ${HANGS_MS} ms. \`retiring\`: it takes no more bots, and ends when its bots have moved. \`ending\`: its thread or process is about to end.`,
    }),
    bots: Type.Integer({ minimum: 0, description: 'Bots on it that the token reaches.' }),
    silent_ms: nullable(
      Type.Integer({ minimum: 0 }),
      'Time since its last heartbeat, to within 100 ms; null while nothing runs in it: then it does not beat.',
    ),
    delay_ms: Type.Integer({
      minimum: 0,
      description:
        'How late its event loop was at worst in its last 10 to 20 s of work, or for how long it has been held by now.',
    }),
    cpu: nullable(
      Type.Number({ minimum: 0 }),
      'Share of a core that its thread was busy, since a request 0.4 to 5 s ago; null when there was none.',
    ),
    heap: nullable(
      Type.Object({ used_bytes: Type.Integer(), limit_bytes: Type.Integer() }),
      'Heap and Buffers as of its last heartbeat; null before the first.',
    ),
  },
  { description: 'A bot host.', examples: [HOST] },
);
export type HostInfo = Static<typeof HostInfo>;

/** Answer of `GET /api/hosts`. */
export const HostList = Type.Object(
  {
    hosts: Type.Array(HostInfo),
    missing: Type.Array(Type.String(), {
      description:
        'Nodes of a cluster whose hosts are missing, because they did not answer in time.',
    }),
  },
  { description: 'The bot hosts.', examples: [{ hosts: [HOST], missing: [] }] },
);
export type HostList = Static<typeof HostList>;
