/**
 * Whether a binary of uWebSockets.js loads here. Tests choose their engine by name, because `auto` takes node:http while the binary does
 * not pass the self-test (docs/ENGINES.md).
 */
export const hasUws = await import('uWebSockets.js').then(
  () => true,
  () => false,
);
