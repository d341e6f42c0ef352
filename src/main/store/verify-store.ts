// Runs as a process of its own. Reads every entry of a store once and exits with 0 when that went well. LMDB maps the
// file into memory: a broken one can end the process that reads it, and that must not be the service.

import { open } from 'lmdb';
import { examine } from '../../shared/lmdb/examine.js';

const path = process.argv[2];
if (path === undefined) throw new Error('usage: verify-store <path>');
examine(path, () => {
  const root = open({ path, noSubdir: true, readOnly: true, maxDbs: 12 });
  // All names first: a database cannot be opened while another is being read.
  for (const name of [...root.getKeys()]) {
    if (typeof name !== 'string') continue;
    for (const { value } of root.openDB({ name }).getRange()) {
      if (value === undefined) throw new Error(`an entry of ${name} is empty`);
    }
  }
});
