// The one place that lmdb is imported from. `npm run build` bundles it into this file (docs/decisions/0045-bundled-storage.md).

export type { Database, RootDatabase, RootDatabaseOptions } from 'lmdb';
export { open } from 'lmdb';
