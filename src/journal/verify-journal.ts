// Runs as a process of its own. Reads a journal once from end to end and exits with 0 when it is whole. LMDB maps the file
// into memory: a broken one can end the process that reads it, and that must not be the service.

import { open } from 'lmdb';
import { examine } from '../store/examine.js';
import { Block, Head } from './block.js';

const path = process.argv[2];
if (path === undefined) throw new Error('usage: verify-journal <path>');
examine(path, () => {
  const root = open({ path, noSubdir: true, readOnly: true, maxDbs: 8 });
  const state = root.openDB({ name: 'state' });
  const blocks = root.openDB({ name: 'blocks', encoding: 'binary', compression: true });
  const heads = root.openDB({ name: 'heads', encoding: 'binary' });
  const others = [
    root.openDB({ name: 'postings', encoding: 'binary' }),
    root.openDB({ name: 'segments', encoding: 'binary' }),
    root.openDB({ name: 'stats' }),
    root.openDB({ name: 'labels' }),
  ];
  // One that was just made has nothing in it yet.
  if (state.get('state') === undefined && blocks.getCount() > 0) {
    throw new Error('it does not say what it holds');
  }
  let last = 0;
  for (const key of blocks.getKeys()) {
    const block = new Block(blocks.getBinaryFast(key) ?? new Uint8Array());
    if (block.first !== key || block.first < last) throw new Error('its blocks are out of order');
    if (new Head(heads.getBinaryFast(key) ?? new Uint8Array()).next !== block.next) {
      throw new Error('a block is not what its head says');
    }
    last = block.next;
  }
  if (heads.getCount() !== blocks.getCount()) throw new Error('a block is missing');
  for (const table of others) {
    for (const { value } of table.getRange()) if (value === undefined) throw new Error('a hole');
  }
});
