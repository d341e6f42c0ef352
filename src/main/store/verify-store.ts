// Runs in a child process. Reads every entry of a store, and exits with 0 when that succeeds. LMDB maps the file into
// memory, so a corrupt file can crash the process that reads it, which must not be the service.

import { examine } from '../../shared/lmdb/examine.js';
import { open } from '../../shared/lmdb/lmdb.js';

const path = process.argv[2];
if (path === undefined) throw new Error('usage: verify-store <path>');
examine(path, () => {
  const root = open({ path, noSubdir: true, readOnly: true, maxDbs: 12 });
  // All names first, because a database cannot be opened while another is being read.
  for (const name of [...root.getKeys()]) {
    if (typeof name !== 'string') continue;
    for (const { value } of root.openDB({ name }).getRange()) {
      if (value === undefined) throw new Error(`an entry of ${name} is empty`);
    }
  }
});
