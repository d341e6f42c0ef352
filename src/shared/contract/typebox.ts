// The one place that TypeBox is imported from. Its 300 files cost each thread 0.2 s at its start, so `npm run
// build` bundles them into this file (rolldown.config.mjs).

export type { Static, TSchema, TUnsafe } from 'typebox';
export { default } from 'typebox';
