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
    host: Type.Integer({ minimum: 0, description: 'As in snapshots of bots.' }),
    node: nullable(Type.String(), 'The node of a cluster that it is on; null in a single service.'),
    isolation: oneOf(['thread', 'process'], { description: 'What it runs in.' }),
    state: oneOf(['starting', 'idle', 'working', 'hangs', 'retiring', 'ending'], {
      description: `\`starting\`: takes no bots yet. \`idle\`: runs no code. \`hangs\`: no heartbeat for ${HANGS_MS} ms. \`retiring\`: takes no more bots and ends when its bots have moved.`,
    }),
    bots: Type.Integer({ minimum: 0, description: 'Bots on it that the token reaches.' }),
    silent_ms: nullable(
      Type.Integer({ minimum: 0 }),
      'Time since its last heartbeat, to within 100 ms; null while `idle`.',
    ),
    delay_ms: Type.Integer({
      minimum: 0,
      description:
        'Worst delay of its event loop in its last 10 to 20 s of work, or how long it is blocked by now.',
    }),
    cpu: nullable(
      Type.Number({ minimum: 0 }),
      'Share of a core since a request 0.4 to 5 s ago; null when there was none.',
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
