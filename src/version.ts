// Imported by any thread. Owns the version of the package that this is a part of.

import { readFileSync } from 'node:fs';
import { PACKAGE_JSON } from './places.js';

export const VERSION: string = PACKAGE_JSON
  ? (JSON.parse(readFileSync(PACKAGE_JSON, 'utf8')) as { version: string }).version
  : '0.0.0';
