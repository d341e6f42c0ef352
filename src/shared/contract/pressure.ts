// Imported by main and the fronts. Owns what is said of how near the service is to its bounds.

import { JournalState } from './journal-schemas.js';
import { oneOf } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** What can be short. */
export const RESOURCES = ['cpu', 'memory', 'streams', 'queue', 'bots'] as const;
export type Resource = (typeof RESOURCES)[number];

/** A share of something, 0 to 1, and where it is short. */
const Share = (description: string) =>
  Type.Object({ used: Type.Number(), limit: Type.Number() }, { description });

/** Body of `GET /api/pressure`. */
export const PressureReport = Type.Object(
  {
    running: Type.Integer({ description: 'Bots that run.' }),
    capacity: Type.Integer({ description: 'Bots that there may be.' }),
    short: Type.Array(oneOf(RESOURCES), {
      description: 'What is short; new streams or new bots are refused while something is.',
    }),
    cpu: Share(
      'Busiest of the fronts and the broadcaster: how much of its time it has worked lately, 0 to 1.',
    ),
    memory: Type.Object(
      { used_bytes: Type.Integer(), limit_bytes: Type.Integer() },
      { description: 'Resident memory of the process.' },
    ),
    streams: Type.Object(
      { open: Type.Integer(), limit: Type.Integer() },
      { description: 'Event streams.' },
    ),
    queue: Share(
      'Fullest bot host: bytes of events on their way to the broadcaster, as a share of `hosts.in_flight_bytes`.',
    ),
    bots: Type.Object(
      { present: Type.Integer(), limit: Type.Integer() },
      { description: 'Bots that there are.' },
    ),
    journal: JournalState,
  },
  {
    description: 'How near the service is to its bounds.',
    examples: [
      {
        running: 3,
        capacity: 20000,
        short: [],
        cpu: { used: 0.004, limit: 0.98 },
        memory: { used_bytes: 213909504, limit_bytes: 7443144704 },
        streams: { open: 1, limit: 20000 },
        queue: { used: 0, limit: 0.9 },
        bots: { present: 3, limit: 20000 },
        journal: { state: 'on', reason: null },
      },
    ],
  },
);
export type PressureReport = Static<typeof PressureReport>;

/** Why something new is refused. */
export interface Shortage {
  resource: Resource;
  /** For the answer. */
  message: string;
}
