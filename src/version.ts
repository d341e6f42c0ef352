// Imported by any thread. Owns the version of the package that this is a part of.

import { existsSync, readFileSync } from 'node:fs';

/** Beside src in a checkout, one further up in what is built. */
const file = ['../package.json', '../../package.json']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));

export const VERSION: string = file
  ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  : '0.0.0';
