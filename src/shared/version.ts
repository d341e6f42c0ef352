import { existsSync, readFileSync } from 'node:fs';
import { PACKAGE_JSONS } from './package-paths.js';

const file = PACKAGE_JSONS.find((url) => existsSync(url));

export const VERSION: string = file
  ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  : '0.0.0';
