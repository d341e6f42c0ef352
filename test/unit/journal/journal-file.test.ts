// The file below the journal, on a real disk: what happens to it when something fails.

import { expect, it, onTestFinished, vi } from 'vitest';
import { Journal } from '../../../src/journal/journal.js';
import { JournalFile } from '../../../src/journal/journal-file.js';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import type { JournalMemory } from '../../../src/journal/open-journal.js';
import type { Tables } from '../../../src/journal/tables.js';
import type { JournalStart } from '../../../src/shared/contract/threads.js';
import type { RingReader } from '../../../src/shared/memory/ring-reader.js';
import { Numbering, newIdentity } from '../../../src/shared/stream/numbering.js';
import { journalDir, Life } from '../../harness/journal.js';

it('is closed again when it was opened but cannot be read', async () => {
  let opened: Tables | undefined;
  const start = {
    dir: journalDir(),
    stream: newIdentity(),
    config: { fsync: 'never' },
    previousShutdown: 'clean',
  } as unknown as JournalStart;
  const memory = {
    resume(_: string, tables: Tables) {
      opened = tables;
      throw new Error('a table cannot be read');
    },
  } as unknown as JournalMemory;
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
  await vi.waitUntil(() => closed !== undefined);
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
  await vi.waitUntil(() => life.state === 'failed');
  expect(life.told.at(-1)?.status.reason).toBe('a page cannot be read');
});
