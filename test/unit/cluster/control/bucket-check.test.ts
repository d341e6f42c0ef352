// What the leader finds in buckets whose servers have diverged.

import { beforeEach, expect, it } from 'vitest';
import { BucketCheck, type BucketView } from '../../../../src/cluster/control/bucket-check.js';
import { Time } from './lease-fixture.js';

const WRONG =
  /^error: the NATS servers have diverged: in the bucket b (.*) \(docs\/CLUSTER\.md, "What NATS loses"\)$/;

/** A bucket that is right until a test breaks it: values by key, and what is found as the last one. */
class Bucket implements BucketView {
  counts_ = new Map<string, number>();
  last_ = new Map<string, number>();
  asked: string[] = [];
  isSilent = false;

  put(key: string, revision: number): void {
    this.counts_.set(key, 1);
    this.last_.set(key, revision);
  }

  async totals() {
    if (this.isSilent) throw new Error('timeout');
    const values = [...this.counts_.values()].reduce((sum, count) => sum + count, 0);
    return { values, keys: this.counts_.size };
  }

  counts = async () => this.counts_;

  async last(key: string) {
    this.asked.push(key);
    return this.last_.get(key) ?? null;
  }
}

let time: Time;
let bucket: Bucket;
let known: Map<string, number>;
let lines: string[];
let check: BucketCheck;

beforeEach(() => {
  time = new Time();
  bucket = new Bucket();
  known = new Map();
  lines = [];
  check = new BucketCheck({
    buckets: [{ name: 'b', known: () => known }],
    view: () => bucket,
    clock: time,
    say: (level, line) => lines.push(`${level}: ${line}`),
  });
});

const put = (key: string, revision: number): void => {
  bucket.put(key, revision);
  known.set(key, revision);
};
const look = async (): Promise<void> => {
  const looked = check.look();
  await time.pass(1000);
  await looked;
};
const fault = (): string | undefined => WRONG.exec(lines.at(-1) ?? '')?.[1];

it('says nothing of a bucket that is right', async () => {
  put('one', 1);
  put('two', 2);
  // It was written again since this node has seen it.
  bucket.put('two', 5);
  await look();
  expect(lines).toEqual([]);
});

it('names a key with more values than are allowed, once, and says when it is right again', async () => {
  put('one', 1);
  bucket.counts_.set('one', 17);
  await look();
  await look();
  expect(lines).toHaveLength(1);
  expect(fault()).toBe('the key one has 17 values where 1 is allowed');
  bucket.put('one', 18);
  await look();
  expect(lines.at(-1)).toBe('info: the NATS bucket b is in order again');
});

it('names a key that is there for who looks at all, and not for who asks for it', async () => {
  put('leader', 4);
  bucket.last_.delete('leader');
  await look();
  expect(fault()).toBe('the key leader is not there, and nobody has removed it');
});

it('names a key of which an acknowledged value is gone', async () => {
  put('one', 9);
  bucket.last_.set('one', 7);
  await look();
  expect(fault()).toBe('the key one has revision 7, and had 9 before that');
});

it('takes no change for a fault', async () => {
  put('one', 9);
  bucket.last_.delete('one');
  const looked = check.look();
  // This node learns that it was deleted.
  known.delete('one');
  await time.pass(1000);
  await looked;
  expect(lines).toEqual([]);
});

it('looks up some keys each time, and all of them in turn', async () => {
  for (let n = 0; n < 120; n++) put(`k${n}`, n + 1);
  for (let n = 0; n < 3; n++) await look();
  expect(bucket.asked).toEqual([...known.keys()]);
  bucket.asked = [];
  await look();
  expect(bucket.asked[0]).toBe('k0');
});

it('says nothing of NATS that does not answer: others do', async () => {
  put('one', 1);
  bucket.isSilent = true;
  await look();
  expect(lines).toEqual([]);
});
