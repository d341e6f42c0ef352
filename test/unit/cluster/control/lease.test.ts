// The steps of the argument in docs/decisions/0085: until when a node may run its bots, and what it does when it may not any more.

import { beforeEach, describe, expect, it } from 'vitest';
import { answerMsOf } from '../../../../src/cluster/control/lease.js';
import { Deferred } from '../../../../src/shared/deferred.js';
import { Key, LEASE_MS, Node, STOP_MS, settle, Time } from './lease-fixture.js';

const NO_ANSWER = 'it was not renewed in time: the NATS servers do not answer';
const SUSPENDED =
  'it was not renewed in time: the process or the machine was suspended, or its clock was set';

/** What its owner was told, but for what does not work at present. */
const untroubled = ({ log }: Node): string[] => log.filter((line) => !line.startsWith('trouble'));

let time: Time;
let key: Key;

beforeEach(() => {
  time = new Time();
  key = new Key();
});

describe('a lease that is held', () => {
  it('is renewed every twelfth of its time', async () => {
    const node = await new Node(time, key).start();
    expect(node.log).toEqual(['held']);
    await time.pass(10 * LEASE_MS);
    expect(node.lease.state).toBe('held');
    expect(node.log).toEqual(['held']);
    expect(key.writes).toBe(1 + 10 * 12);
    expect(node.deadline.leftMs).toBe(LEASE_MS);
  });

  it('ends so long after the renewal was sent, not after its answer', async () => {
    const gate = new Deferred();
    key.gate = gate.promise;
    const node = await new Node(time, key).start();
    await time.pass(1500);
    expect(node.log).toEqual([]);
    gate.resolve();
    await settle();
    expect(node.log).toEqual(['held']);
    expect(node.deadline.leftMs).toBe(LEASE_MS - 1500);
  });

  it('is kept after an answer was lost: the revision that it finds is its own', async () => {
    const node = await new Node(time, key).start();
    key.losesAnswers = true;
    await time.pass(LEASE_MS / 12 + 100);
    key.losesAnswers = false;
    await time.pass(LEASE_MS);
    expect(node.log).toEqual(['held', 'trouble: timeout']);
    expect(node.lease.state).toBe('held');
  });

  it('is written again when its key is gone: nobody ends a lease before its deadline', async () => {
    const node = await new Node(time, key).start();
    key.entry = null;
    await time.pass(LEASE_MS);
    expect(key.entry).toMatchObject({ value: 'a/1' });
    expect(node.log).toEqual(['held']);
  });

  it('is not written again where the key of another is by then', async () => {
    const node = await new Node(time, key).start();
    key.entry = null;
    await key.write('b/1', 0);
    await time.pass(LEASE_MS / 6);
    expect(node.log.slice(0, 2)).toEqual(['held', 'lost: another service has taken it']);
    expect(key.entry).toMatchObject({ value: 'b/1' });
  });

  it('is lost with its key where that is asked for, and acquired again', async () => {
    const leader = await new Node(time, key, 'a', '1', 'lose').start();
    key.entry = null;
    await time.pass(LEASE_MS / 6);
    expect(leader.log).toEqual([
      'held',
      'lost: its key is gone: the NATS servers have lost it, or the bucket was deleted',
      'held',
    ]);
  });

  it('is given back at the end', async () => {
    const node = await new Node(time, key).start();
    await Promise.all([node.lease.close(), time.pass(1000)]);
    expect(key.entry?.value).toBeNull();
    expect(node.deadline.hasPassed).toBe(true);
    expect(node.log).toEqual(['held']);
  });

  it('does not keep the service from ending when NATS does not answer', async () => {
    const node = await new Node(time, key).start();
    key.gate = new Promise(() => {});
    const closed = node.lease.close();
    await time.pass(2500);
    await closed;
    expect(node.deadline.hasPassed).toBe(true);
  });
});

describe('silence of NATS', () => {
  const answerMs = answerMsOf(LEASE_MS);
  const unanswered = async (): Promise<never> => {
    await time.sleep(answerMs);
    throw new Error('timeout');
  };
  const ways: [string, () => void][] = [
    ['calls fail at once', () => Object.assign(key, { fault: 'no leader' })],
    ['calls are not answered', () => Object.assign(key, { silence: unanswered })],
  ];

  /** An election of JetStream takes 4 to 9 s. Whenever it begins, the last renewal is not older than a twelfth. */
  it.each(ways)('of 9 s costs no lease of 12 s, whenever it begins: %s', async (_, fail) => {
    const node = await new Node(time, key).start();
    for (let phase = 0; phase < LEASE_MS / 12; phase += 50) {
      await time.pass(2 * LEASE_MS + phase);
      fail();
      await time.pass(9000);
      Object.assign(key, { fault: null, silence: null });
    }
    await time.pass(LEASE_MS);
    expect(untroubled(node)).toEqual(['held']);
  });

  it.each(ways)('of 10.5 s stops the bots: %s', async (_, fail) => {
    const node = await new Node(time, key).start();
    await time.pass(LEASE_MS);
    fail();
    await time.pass(10_500);
    expect(untroubled(node)[1]).toMatch(/^expiring: /);
  });
});

describe('a key that was acknowledged and cannot be read back', () => {
  const NOT_KEPT = /^trouble: NATS has acknowledged the lease and does not have it: its servers/;

  it('is not held', async () => {
    key.forgets = true;
    const node = await new Node(time, key).start();
    await time.pass(LEASE_MS);
    expect(node.log.every((line) => NOT_KEPT.test(line))).toBe(true);
    expect(node.deadline.hasPassed).toBe(true);
    key.forgets = false;
    await time.pass(1000);
    expect(node.log.at(-1)).toBe('held');
  });

  it('is no renewal: the bots stop before the deadline', async () => {
    const node = await new Node(time, key).start();
    key.entry = null;
    key.forgets = true;
    await time.pass(LEASE_MS);
    expect(node.isRunning).toBe(false);
    expect(untroubled(node)[1]).toMatch(/^expiring: NATS has acknowledged the lease/);
  });
});

describe('a lease that cannot be renewed', () => {
  it('has stopped its bots before the deadline', async () => {
    const node = await new Node(time, key).start();
    key.fault = 'unreachable';
    await time.pass(LEASE_MS - STOP_MS - 1000);
    expect(node.isRunning).toBe(true);
    await time.pass(1000 + 300 + node.stopTakesMs);
    expect(node.isRunning).toBe(false);
    expect(untroubled(node)).toEqual(['held', 'expiring: unreachable', 'lost: unreachable']);
    expect(node.deadline.hasPassed).toBe(true);
  });

  it('ends by force at the deadline what does not stop', async () => {
    const node = await new Node(time, key).start();
    node.stopTakesMs = 60_000;
    key.fault = 'unreachable';
    await time.pass(LEASE_MS - 1);
    expect(node.isRunning).toBe(true);
    expect(node.log.at(-1)).toBe('expiring: unreachable');
    await time.pass(1);
    expect(node.isRunning).toBe(false);
    expect(node.log.at(-1)).toBe('lost: unreachable');
  });

  it('is not extended by an answer that comes after it was given up', async () => {
    const node = await new Node(time, key).start();
    const gate = new Deferred();
    key.gate = gate.promise;
    await time.pass(LEASE_MS - STOP_MS - 100);
    // Those are on their way; nothing else arrives.
    expect(key.writes).toBeGreaterThan(1);
    key.fault = 'unreachable';
    await time.pass(1000);
    expect(node.isRunning).toBe(false);
    gate.resolve();
    await settle();
    expect(node.deadline.hasPassed).toBe(true);
    expect(untroubled(node)).toEqual(['held', `expiring: ${NO_ANSWER}`, `lost: ${NO_ANSWER}`]);
  });

  it('is acquired again when NATS is back and nothing runs', async () => {
    const node = await new Node(time, key).start();
    key.fault = 'unreachable';
    await time.pass(2 * LEASE_MS);
    key.fault = null;
    await time.pass(1000);
    expect(node.log.at(-1)).toBe('held');
    expect(node.deadline.leftMs).toBeGreaterThan(0);
  });

  it('is not acquired while what it ran is still stopping', async () => {
    const node = await new Node(time, key).start();
    node.stopTakesMs = 60_000;
    key.fault = 'unreachable';
    await time.pass(LEASE_MS);
    key.fault = null;
    await time.pass(30_000);
    expect(node.lease.state).toBe('lost');
    await time.pass(40_000);
    expect(node.lease.state).toBe('held');
  });
});

describe('a node that was frozen', () => {
  it('renews nothing when its deadline has passed: its bots end first', async () => {
    const node = await new Node(time, key).start();
    const { revision } = (await key.read()) ?? {};
    key.fault = 'must not be asked';
    await time.freeze(LEASE_MS + 1);
    expect(untroubled(node)).toEqual(['held', `lost: ${SUSPENDED}`]);
    expect(node.isRunning).toBe(false);
    expect(key.entry?.revision).toBe(revision);
  });

  it('writes nothing for a change of its record either', async () => {
    const node = await new Node(time, key).start();
    time.monotonicMs += LEASE_MS;
    await expect(node.lease.refresh()).rejects.toThrow('it was renewed too late');
    expect(key.writes).toBe(1);
  });

  it('does not make its key again when it was frozen while it looked for it', async () => {
    const node = await new Node(time, key).start();
    node.ending = new Promise(() => {});
    const gate = new Deferred();
    key.readGate = gate.promise;
    key.entry = null;
    await time.pass(LEASE_MS / 2);
    await time.freeze(LEASE_MS);
    gate.resolve();
    await settle();
    expect(node.log.at(-1)).toBe(`lost: ${SUSPENDED}`);
    expect(key.entry).toBeNull();
  });

  it('is fenced at once by shared memory, before any timer runs', async () => {
    const node = await new Node(time, key).start();
    time.monotonicMs += LEASE_MS;
    expect(node.deadline.hasPassed).toBe(true);
  });

  it('keeps its lease when it was frozen for less', async () => {
    const node = await new Node(time, key).start();
    await time.freeze(LEASE_MS - STOP_MS - 1);
    await time.pass(LEASE_MS);
    expect(node.log).toEqual(['held']);
  });
});

describe('the wall clock', () => {
  it('ends the lease of a machine that was suspended, whose monotonic clock did not run', async () => {
    const node = await new Node(time, key).start();
    time.wallMs += LEASE_MS;
    expect(node.deadline.hasPassed).toBe(true);
    await time.pass(300);
    expect(node.log[1]).toBe(`lost: ${SUSPENDED}`);
  });

  it('extends nothing when it is set back', async () => {
    const node = await new Node(time, key).start();
    time.wallMs -= 3_600_000;
    key.fault = 'unreachable';
    await time.pass(LEASE_MS);
    expect(node.isRunning).toBe(false);
    expect(node.deadline.hasPassed).toBe(true);
  });
});

describe('revisions', () => {
  it('make the renewal of an ended lease fail, and end its bots at once', async () => {
    const node = await new Node(time, key).start();
    await key.end(key.entry?.revision ?? 0);
    await time.pass(LEASE_MS / 3 + 500);
    expect(node.log.slice(0, 2)).toEqual(['held', 'lost: another node has ended it']);
    // It joins again afterwards.
    expect(node.log.at(-1)).toBe('held');
  });

  it('make the write that would end a renewed lease fail', async () => {
    const node = await new Node(time, key).start();
    const seen = key.entry?.revision ?? 0;
    await time.pass(LEASE_MS / 2);
    await expect(key.end(seen)).rejects.toSatisfy(key.isOutdated);
    await time.pass(LEASE_MS);
    expect(node.log).toEqual(['held']);
  });

  it('let a restarted node take its lease over at once, and stop the earlier run', async () => {
    const before = await new Node(time, key, 'a', '1').start();
    const after = await new Node(time, key, 'a', '2').start();
    expect(after.log).toEqual(['held']);
    await time.pass(LEASE_MS / 3 + 300);
    expect(before.log).toContain('lost: another service has taken it');
  });
});

describe('the name of another service', () => {
  it('is refused as soon as that one renews its lease', async () => {
    await new Node(time, key, 'a').start();
    const second = await new Node(time, key, 'b').start();
    expect(second.log).toEqual(['a/1 is there']);
    await time.pass(LEASE_MS / 3 + 1000);
    expect(second.log.at(-1)).toBe('a/1 lives');
    await time.pass(5 * LEASE_MS);
    expect(second.log).not.toContain('held');
  });

  it('is free once the bucket has dropped the lease', async () => {
    key.entry = { value: 'a/1', revision: 7 };
    const second = await new Node(time, key, 'b').start();
    key.entry = null;
    await time.pass(1000);
    expect(second.log.at(-1)).toBe('held');
  });

  it('is taken when nobody has renewed it for longer than the lease, though the bucket kept it', async () => {
    await key.write('a/1', 0);
    const second = await new Node(time, key, 'b').start();
    await time.pass(LEASE_MS + 900);
    expect(second.log).not.toContain('held');
    await time.pass(1000);
    expect(second.log.at(-1)).toBe('held');
  });
});
