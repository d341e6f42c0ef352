// The one place that TypeBox is imported from. It comes as some 300 files, which cost each thread 0.2 s of its start:
// `npm run build` puts them into the built form of this file (rolldown.config.mjs).

// biome-ignore lint/style/noRestrictedImports: this is the one place.
export type { Static, TSchema, TUnsafe } from 'typebox';
// biome-ignore lint/style/noRestrictedImports: this is the one place.
export { default } from 'typebox';
