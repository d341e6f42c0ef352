// JSON Schemas of the runs that the service has: recordings and reports in a directory of its data directory.

import { time } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** Bytes of a file in one answer. */
export const MAX_RUN_BYTES = 4 * 1024 * 1024;
/** Files that are listed: the latest. */
export const MAX_RUN_FILES = 1000;
/** Valid names of files. The page opens no others, and a path does not match. */
export const RUN_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\\.(?:ndjson|xml|json)$';

const RUN = { name: 'nightly.ndjson', bytes: 1_482_310, changed_ms: 1795257586197 };

export const RunFile = Type.Object(
  {
    name: Type.String({ pattern: RUN_NAME }),
    bytes: Type.Integer({ minimum: 0 }),
    changed_ms: time('When it was written last.'),
  },
  { description: 'A file of a run.', examples: [RUN] },
);
export type RunFile = Static<typeof RunFile>;

/** Answer of `GET /api/runs`. */
export const RunList = Type.Object(
  {
    runs: Type.Array(RunFile),
    more: Type.Integer({
      minimum: 0,
      description: 'How many older files are not listed.',
    }),
  },
  { description: 'The files of runs.', examples: [{ runs: [RUN], more: 0 }] },
);
export type RunList = Static<typeof RunList>;
