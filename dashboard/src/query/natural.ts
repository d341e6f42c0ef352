/** `demo-2` before `demo-10`. */
export const natural = new Intl.Collator('en', { numeric: true });
