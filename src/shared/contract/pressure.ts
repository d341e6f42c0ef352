import { JournalState } from './journal-schemas.js';
import { nullable, oneOf } from './json-schema.js';
import { ClusterPressure } from './nodes.js';
import Type, { type Static } from './typebox.js';

/** Resources that can run short. */
export const RESOURCES = ['cpu', 'memory', 'streams', 'queue', 'files', 'bots', 'disk'] as const;
export type Resource = (typeof RESOURCES)[number];

/** A utilisation from 0 to 1, and its limit. */
const Share = (description: string) =>
  Type.Object({ used: Type.Number(), limit: Type.Number() }, { description });

/** The field `store` of `GET /api/pressure`. */
export const StoreState = Type.Object(
  {
    state: oneOf(['on', 'failed'], {
      description: '`failed` while the disk accepts no writes; it is tried again each second.',
    }),
    reason: nullable(Type.String(), 'Why it has failed.'),
  },
  { description: 'Whether changes are stored; they are refused while not.' },
);
export type StoreState = Static<typeof StoreState>;

/** Body of `GET /api/pressure`. */
export const PressureReport = Type.Object(
  {
    running: Type.Integer({ description: 'Bots that run.' }),
    capacity: Type.Integer({ description: 'The bot limit.' }),
    short: Type.Array(oneOf(RESOURCES), {
      description: 'Resources at their limit.',
    }),
    cpu: Share('Utilisation of the busiest front or the broadcaster, 0 to 1.'),
    memory: Type.Object(
      { used_bytes: Type.Integer(), limit_bytes: Type.Integer() },
      { description: 'Resident memory of the process.' },
    ),
    streams: Type.Object(
      { open: Type.Integer(), limit: Type.Integer() },
      { description: 'Event streams.' },
    ),
    queue: Share('Fullest bot host: bytes in flight, as a share of 8 MiB.'),
    files: Type.Object(
      {
        used: nullable(Type.Integer(), 'Null where the system does not say.'),
        limit: nullable(Type.Integer(), 'Null for none, or where the system does not say.'),
        most: nullable(
          Type.Object({
            kind: Type.String(),
            open: Type.Integer({ description: 'Connections and pipes of its bots.' }),
          }),
          'While they are short: the kind of bots that has most connections open, where that is known.',
        ),
      },
      { description: 'Open files of the process, sockets included.' },
    ),
    hosts: Type.Array(
      Type.Object({
        host: Type.Integer(),
        bots: Type.Integer({ description: 'Bots that it runs.' }),
        delay_ms: Type.Integer({
          description:
            'How late its event loop was at worst in its last 10 to 20 s of work, or for how long it has been held by now, in ms; 0 while nothing runs there.',
        }),
      }),
      { description: 'The bot hosts.' },
    ),
    bots: Type.Object({ present: Type.Integer(), limit: Type.Integer() }, { description: 'Bots.' }),
    store: StoreState,
    journal: JournalState,
    cluster: nullable(ClusterPressure, 'Null for a single service.'),
  },
  {
    description: 'How close the service is to its limits.',
    examples: [
      {
        running: 3,
        capacity: 20000,
        short: [],
        cpu: { used: 0.004, limit: 0.98 },
        memory: { used_bytes: 213909504, limit_bytes: 7443144704 },
        streams: { open: 1, limit: 20000 },
        queue: { used: 0, limit: 0.9 },
        files: { used: 48, limit: 65536, most: null },
        hosts: [{ host: 0, bots: 3, delay_ms: 2 }],
        bots: { present: 3, limit: 20000 },
        store: { state: 'on', reason: null },
        journal: { state: 'on', reason: null },
        cluster: null,
      },
    ],
  },
);
export type PressureReport = Static<typeof PressureReport>;

/** Why new streams or bots are refused. */
export interface Shortage {
  resource: Resource;
  /** For the response. */
  message: string;
}
