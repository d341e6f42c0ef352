// The file below the journal, on a real disk: what happens to it when something fails.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Journal } from '../../../src/journal/journal.js';
import { JournalFile } from '../../../src/journal/journal-file.js';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import type { JournalMemory } from '../../../src/journal/open-journal.js';
import type { Tables } from '../../../src/journal/tables.js';
import type { JournalStart } from '../../../src/shared/contract/threads.js';
import type { RingReader } from '../../../src/shared/memory/ring-reader.js';
import { PROGRAMS } from '../../../src/shared/package-paths.js';
import { JOURNAL_FILE, Numbering, newIdentity } from '../../../src/shared/stream/numbering.js';
import { eventually } from '../../harness/bots.js';
import { expectNoHole, journalDir, Life } from '../../harness/journal.js';
import { partial } from '../../harness/partial.js';

it('is closed again when it was opened but cannot be read', async () => {
  let opened: Tables | undefined;
  const start = {
    dir: journalDir(),
    stream: newIdentity(),
    config: { fsync: 'never' },
    previousShutdown: 'clean',
  } as unknown as JournalStart;
  const memory = partial<JournalMemory>({
    resume(_: string, tables: Tables) {
      opened = tables;
      throw new Error('a table cannot be read');
    },
  });
  const ring = { head: () => 1 } as RingReader;
  const file = new JournalFile(start, ring, memory, { notice() {}, foundBroken() {} });
  await expect(file.open()).rejects.toThrow('a table cannot be read');
  expect(file.opened).toBeUndefined();
  // lmdb rejects any use after close().
  expect(() => opened?.state.get('state')).toThrow();
});

it('is closed again when its examination cannot be recorded', async () => {
  let opened: Tables | undefined;
  const start = {
    dir: journalDir(),
    stream: newIdentity(),
    config: { fsync: 'never' },
    previousShutdown: 'unexamined',
  } as unknown as JournalStart;
  const memory = {
    resume(_: string, tables: Tables) {
      opened = tables;
      return { tables };
    },
  } as unknown as JournalMemory;
  const ring = { head: () => 1 } as RingReader;
  const examined = vi.spyOn(Numbering.prototype, 'examined').mockImplementationOnce(() => {
    throw new Error('an I/O error');
  });
  onTestFinished(() => examined.mockRestore());
  const file = new JournalFile(start, ring, memory, { notice() {}, foundBroken() {} });
  await expect(file.open()).rejects.toThrow('an I/O error');
  expect(file.opened).toBeUndefined();
  expect(() => opened?.state.get('state')).toThrow();
});

it('is written to its end when the service stops while it is being reopened', async () => {
  let closed: Promise<void> | undefined;
  const life = await Life.begin(journalDir(), {
    Journal,
    peers: {
      status({ state }) {
        // A write has failed, and the file is being closed to be opened again.
        if (state === 'failed') closed ??= life.journal.close();
      },
    },
  });
  life.say('first words');
  expect(await life.past()).toHaveLength(1);
  const reserve = vi.spyOn(Numbering.prototype, 'keepAhead').mockImplementationOnce(() => {
    throw new Error('the disk is full');
  });
  onTestFinished(() => reserve.mockRestore());
  const head = life.say('last words');
  await eventually(() => closed !== undefined, 'the journal closes');
  await closed;
  const { first, previousShutdown } = Numbering.begin(life.dir);
  expect({ first, previousShutdown }).toEqual({ first: head, previousShutdown: 'clean' });
});

it('is a failed journal, not a lost thread, when it is open but its oldest events cannot be read', async () => {
  const oldest = vi.spyOn(JournalReader.prototype, 'oldest').mockImplementationOnce(() => {
    throw new Error('a page cannot be read');
  });
  onTestFinished(() => oldest.mockRestore());
  const life = await Life.begin(journalDir(), { Journal });
  onTestFinished(() => life.end());
  await eventually(() => life.state === 'failed', 'the journal has failed');
  expect(life.told.at(-1)?.status.reason).toBe('a page cannot be read');
});

/** Undoes the last writes to a journal, which is what LMDB may do to a commit during which another process opens the file. */
const TAKE_BACK = `
  import { open } from 'lmdb';
  const root = open({ path: process.env.FILE, noSubdir: true, maxDbs: 8 });
  const [state, blocks, heads] = ['state', 'blocks', 'heads'].map((name) => root.openDB({ name, encoding: name === 'state' ? 'msgpack' : 'binary' }));
  const next = Number(process.env.NEXT);
  root.transactionSync(() => {
    state.putSync('state', { ...state.get('state'), next });
    for (const first of [...heads.getKeys({ start: next })]) {
      heads.removeSync(first);
      blocks.removeSync(first);
    }
  });
  await root.close();
`;

it('from which the last write was taken back is opened again, and what it lost is written again', async () => {
  const life = await Life.begin(journalDir());
  onTestFinished(() => life.end());
  const next = life.say('one');
  await life.past();
  // The next frames begin another block.
  await life.replace();
  life.say('two');
  expect(await life.past()).toHaveLength(2);
  // Everything is written, so nothing is written while the other process has the file open.
  execFileSync(process.execPath, ['--input-type=module', '-e', TAKE_BACK], {
    env: { ...process.env, FILE: path.join(life.dir, JOURNAL_FILE), NEXT: `${next}` },
  });
  life.say('three');
  await eventually(() => life.state === 'failed', 'the journal has failed');
  expect(life.told.at(-1)?.status.reason).toBe(
    'another program has opened its file, and what was written last is lost from it',
  );
  await life.on();
  const events = await life.past();
  expect(events.map(({ data }) => (data as { message?: string }).message)).toEqual([
    'one',
    'two',
    'three',
  ]);
  expectNoHole(events);
  expect(life.journal.status).toMatchObject({ lost: 0, reason: null });
});

/** A verifier that opens the file only when it is told to. */
const SLOW_VERIFIER = `
  import { existsSync, writeFileSync } from 'node:fs';
  import { dirname, join } from 'node:path';
  const [file, scope] = process.argv.slice(2);
  if (scope === 'behind') {
    writeFileSync(join(dirname(file), 'begun'), '');
    while (!existsSync(join(dirname(file), 'open'))) await new Promise((resolve) => setTimeout(resolve, 5));
    console.log('opened');
  }
`;

it('is not written before the process that examines it has opened it: LMDB may take such a write back', async () => {
  const dir = journalDir();
  const first = await Life.begin(dir, { Journal });
  first.say('before');
  expect(await first.past()).toHaveLength(1);
  await first.end();
  // A run that does not end cleanly.
  Numbering.begin(dir);

  const { verifyJournal } = PROGRAMS;
  onTestFinished(() => void Object.assign(PROGRAMS, { verifyJournal }));
  const verifier = path.join(dir, 'verifier.mjs');
  writeFileSync(verifier, SLOW_VERIFIER);
  Object.assign(PROGRAMS, { verifyJournal: verifier });
  const life = await Life.begin(dir, { Journal });
  onTestFinished(() => life.end());
  life.say('after');
  await eventually(() => existsSync(path.join(dir, 'begun')), 'the examination');
  // Longer than it takes to write.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(life.state).toBeUndefined();
  expect(life.journal.status.newest).toBeNull();
  writeFileSync(path.join(dir, 'open'), '');
  await life.on();
  const messages = (await life.past()).map(({ data }) => (data as { message?: string }).message);
  expect(messages.filter(Boolean)).toEqual(['before', 'after']);
});
