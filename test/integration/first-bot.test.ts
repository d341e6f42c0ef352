// The README's section "From the package", as it stands there, with the checkout in the place of the installed package
// (test/packaging does it with the package itself).

import { expect, it } from 'vitest';
import { Reader } from '../harness/docs.js';
import { walkThroughPackage } from '../harness/first-bot.js';
import { freePort } from '../harness/ports.js';

it('README.md, "From the package": a bot written, started, watched, commanded and checked', async () => {
  const reader = new Reader(await freePort());
  reader.linkPackage();
  reader.command('npx', 'exec "$@"');
  expect(await walkThroughPackage(reader)).toBe(0);
}, 120_000);
