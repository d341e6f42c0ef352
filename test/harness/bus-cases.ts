// Test harness. What somebody who has access to NATS may send and store in a cluster: bytes of all sorts, made from what its nodes say.

import { headers, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { INBOX } from '../../src/shared/contract/node-name.js';
import { randomFrom } from './random.js';

/** A message of a node. */
export interface Heard {
  subject: string;
  data: Uint8Array;
}

export interface BusCase {
  subject: string;
  data: Uint8Array;
  /** Where the answer goes, if there is one. */
  reply: string;
  /** A removal of a key. */
  isRemoval: boolean;
  /** As NATS sends it in place of a message; 0 for none. */
  status: number;
  /** What it is, for the report. */
  what: string;
}

const NOBODY = '_INBOX.nobody';
/** Heartbeats and flow control, no message, a timeout, the end of a consumer, nobody listens. */
const STATUSES = [100, 404, 408, 409, 503];
/** JSON that is not what is expected; and msgpack. */
const SHAPES = [
  'null',
  '0',
  '[]',
  '{}',
  '"x"',
  '{"v":1}',
  '{"v":99}',
  '{"v":"1"}',
  '{"v":1,"id":null,"method":"createBot","input":null}',
  '{"v":1,"id":"x","method":"__proto__","input":{},"deadline_ms":1e308}',
  '{"v":1,"id":"x","part":-1}',
  '{"v":1,"id":"x","part":1e15}',
  '{"v":1,"parts":9007199254740991}',
  '{"v":1,"id":"x","method":"history","input":{"kind":"page","request":null},"deadline_ms":1000}',
  '{"v":1,"id":"y","method":"history","input":{"kind":"frames","epoch":"","from":-1,"maxBytes":1e300}}',
  '{"v":1,"id":"z","method":"baseline"}\nx',
  '{"v":1,"node":"zz","record":{"id":"x","digest":"x","scopes":["admin"]},"use":null}',
  '{"v":1,"spec":{"id":"x","kind":"k","config":{},"labels":null},"node":"h1","term":1,"state":"placed","failover":"restart","sealed":null}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  Buffer.from([0x83, 0xa1, 0x76, 0x01, 0xa2, 0x69, 0x64, 0xc0, 0xa1, 0x78, 0x93, 0x01, 0x02, 0x03]),
  Buffer.alloc(0),
  Buffer.from('12345'),
];

/** @param heard of the subjects of a cluster; not empty. @param mayRepeat whether what was said is sent again as it was. */
export function* busCases(
  seed: number,
  heard: readonly Heard[],
  subjects: readonly string[],
  mayRepeat: boolean,
): Generator<BusCase> {
  const random = randomFrom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;
  const ways: Record<string, (data: Buffer) => Uint8Array> = {
    random: () => Buffer.from(Array.from({ length: below(300) }, () => below(256))),
    cut: (data) => data.subarray(0, below(data.length)),
    flipped: (data) => {
      for (let n = 1 + below(4); n > 0 && data.length > 0; n--) {
        const at = below(data.length);
        data[at] = (data[at] as number) ^ (1 << below(8));
      }
      return data;
    },
    joined: (data) => Buffer.concat([data.subarray(below(data.length)), oneOf(heard).data]),
    shape: () => Buffer.from(oneOf(SHAPES)),
    ...(mayRepeat && { repeated: (data: Buffer) => data }),
  };
  const inboxes = heard.map(({ subject }) => subject).filter((subject) => INBOX.test(subject));
  for (;;) {
    const true_ = oneOf(heard);
    const way = oneOf(Object.keys(ways));
    const data = ways[way]?.(Buffer.from(true_.data)) ?? Buffer.alloc(0);
    // To where it was said, or elsewhere.
    const subject = random() < 0.5 ? true_.subject : oneOf(subjects);
    const isRemoval = subject.startsWith('$KV.') && mayRepeat && random() < 0.1;
    const status = random() < 0.1 ? oneOf(STATUSES) : 0;
    // What JetStream answers comes to those who have not asked.
    const reply = random() < 0.2 ? oneOf(inboxes) : NOBODY;
    yield { subject, data, reply, isRemoval, status, what: `${way} to ${subject}` };
  }
}

export function sendCase(nats: NatsConnection, one: BusCase): void {
  const { subject, data, reply, isRemoval, status } = one;
  const marker = status === 0 ? headers() : headers(status, 'forged');
  if (isRemoval) marker.set('KV-Operation', 'DEL');
  nats.publish(subject, data, { reply, ...((isRemoval || status > 0) && { headers: marker }) });
}
