// Runs as its own process. Reads a journal from end to end, or with `newest` what a start reads, and exits with 0 when it is
// whole. LMDB maps the file into memory, so a broken file can crash the process that reads it: that must not be the service.

import { statSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { examine } from '../shared/lmdb/examine.js';
import { open } from '../shared/lmdb/lmdb.js';
import { write } from '../shared/terminal.js';
import { Block, Head } from './block.js';
import type { State } from './tables.js';

const [path, scope] = process.argv.slice(2);
const onlyNewest = scope === 'newest';
/** Pages at the end of the file may be missing if they were freed before they were written; more may not. */
const LEAST_SHARE = 0.9;
/** Blocks that are read at the start beside those of the open segment. */
const NEWEST = 64;
if (path === undefined) throw new Error('usage: verify-journal <path>');
examine(path, () => {
  const root = open({ path, noSubdir: true, readOnly: true, maxDbs: 8 });
  const state = root.openDB({ name: 'state' });
  const blocks = root.openDB({ name: 'blocks', encoding: 'binary', compression: true });
  const packed = root.openDB({ name: 'blocks', encoding: 'binary' });
  const heads = root.openDB({ name: 'heads', encoding: 'binary' });
  const others = [
    root.openDB({ name: 'postings', encoding: 'binary' }),
    root.openDB({ name: 'segments', encoding: 'binary' }),
    root.openDB({ name: 'stats' }),
  ];
  // A journal of an earlier version has no states.
  const ofBots = ['labels', 'states'].flatMap((name) => root.openDB({ name }) ?? []);
  const { lastPageNumber, pageSize } = root.getStats() as Record<string, number>;
  if (statSync(path).size < LEAST_SHARE * (lastPageNumber ?? 0) * (pageSize ?? 0)) {
    throw new Error('it was cut short');
  }
  // The service waits for this line before it writes. From here on it has priority.
  if (scope === 'behind') {
    write(process.stdout, 'opened\n');
    setPriority(constants.priority.PRIORITY_LOW);
  }
  // A new file is still empty.
  const known = state.get('state') as State | undefined;
  if (known === undefined && blocks.getCount() > 0) {
    throw new Error('it does not say what it holds');
  }
  let start = 0;
  if (onlyNewest) {
    const newest = [...heads.getKeys({ reverse: true, limit: NEWEST })].at(-1);
    start = Math.min(Number(newest ?? 0), known?.posted ?? 0);
  }
  let last = 0;
  for (const key of blocks.getKeys({ start })) {
    const head = new Head(heads.getBinaryFast(key) ?? new Uint8Array());
    // Check the CRC before lmdb decompresses the block: a damaged block may decompress to something else.
    head.check(packed.getBinaryFast(key) ?? new Uint8Array());
    const block = new Block(blocks.getBinaryFast(key) ?? new Uint8Array());
    if (block.first !== key || block.first < last) throw new Error('its blocks are out of order');
    if (!head.equals(block)) throw new Error('a block is not what its head says');
    last = block.next;
  }
  if (heads.getCount() !== blocks.getCount()) throw new Error('a block is missing');
  for (const table of onlyNewest ? ofBots : [...others, ...ofBots]) {
    for (const { value } of table.getRange()) if (value === undefined) throw new Error('a hole');
  }
});
