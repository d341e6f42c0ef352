// The one place that lmdb is imported from. `npm run build` bundles it into this file (docs/DEPENDENCIES.md, "In the build").

export type { Database, RootDatabase, RootDatabaseOptions } from 'lmdb';
export { open } from 'lmdb';
