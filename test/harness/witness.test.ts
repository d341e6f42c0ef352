// Tests of the witness and of the cut: a witness that sees nothing would pass every test of a cluster.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Cut } from './cut.js';
import { Witness } from './witness.js';

async function start(): Promise<Witness> {
  const witness = await Witness.start();
  onTestFinished(() => witness.stop());
  return witness;
}

/** @param atNs when it says so. */
async function visit(port: number, hello: string, atNs = 1): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const [word, bot, term, pid, ...secret] = hello.split(' ');
  socket.write(`${[word, bot, term, pid, atNs, ...secret].join(' ')}\n`);
  return socket;
}

const seen = (witness: Witness, bot: string, term: number): Promise<void> =>
  witness.until(
    () => witness.termOf(bot) === term,
    () => bot,
  );

it('one bot after the other is no violation', async () => {
  const witness = await start();
  const first = await visit(witness.port, 'hello a 1 100');
  await seen(witness, 'a', 1);
  first.end('1 2\n');
  await witness.until(
    () => witness.present.length === 0,
    () => 'the end',
  );
  await visit(witness.port, 'hello a 2 200 secret');
  await witness.all(['a'], (pid) => pid === 200);
  expect(witness.secretOf('a')).toBe('secret');
  expect([witness.violations, witness.overlaps, witness.visits]).toEqual([[], [], 2]);
});

it('an open connection overlaps, and a line that is written on it later is a violation', async () => {
  const witness = await start();
  const first = await visit(witness.port, 'hello a 1 100');
  await seen(witness, 'a', 1);
  await visit(witness.port, 'hello a 2 200', 5);
  await witness.until(
    () => witness.overlaps.length > 0,
    () => 'an overlap',
  );
  expect(witness.overlaps).toEqual([{ bot: 'a', olderTerm: 1, newerTerm: 2, pid: 100 }]);
  // On its way for long.
  first.write('1 4\n');
  await visit(witness.port, 'hello b 1 100');
  await seen(witness, 'b', 1);
  expect(witness.violations).toEqual([]);
  first.write('2 6\n');
  await witness.until(
    () => witness.violations.length > 0,
    () => 'a violation',
  );
  expect(witness.violations[0]).toMatch(
    /^VIOLATION a: process 100 sends with term 1 after process 200 with term 2/,
  );
});

it('an older term that says hello is a violation, and so is a second connection of one term', async () => {
  const witness = await start();
  const newer = await visit(witness.port, 'hello a 2 200', 2);
  await seen(witness, 'a', 2);
  await visit(witness.port, 'hello a 1 100', 3);
  await witness.until(
    () => witness.violations.length === 1,
    () => 'the older term',
  );
  await visit(witness.port, 'hello a 2 201', 4);
  await witness.all(['a'], (pid) => pid === 201);
  newer.write('1 5\n');
  await witness.until(
    () => witness.violations.length === 2,
    () => 'the same term',
  );
});

it('a cut holds back what is sent, refuses, and opens again', async () => {
  const witness = await start();
  const cut = await Cut.before(witness.port);
  onTestFinished(() => cut.close());
  const early = await visit(cut.port, 'hello a 1 100');
  await seen(witness, 'a', 1);
  await cut.set('silent');
  early.end('1 2\n');
  await visit(cut.port, 'hello b 1 100');
  await visit(witness.port, 'hello c 1 100');
  await seen(witness, 'c', 1);
  expect(witness.present).toEqual(['a', 'c']);
  await cut.set('open');
  await seen(witness, 'b', 1);
  await cut.set('refused');
  await witness.until(
    () => witness.present.join() === 'c',
    () => 'all others to leave',
  );
  const refused = connect(cut.port, '127.0.0.1');
  await expect(once(refused, 'connect')).rejects.toThrow(/ECONNREFUSED/);
  await cut.set('open');
  await visit(cut.port, 'hello d 1 100');
  await seen(witness, 'd', 1);
});
