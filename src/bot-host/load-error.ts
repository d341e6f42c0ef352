// Runs in a bot host thread. Says why a kind's module does not load, and where.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../shared/errors.js';
import { PACKAGE_DIR } from '../shared/package-paths.js';
import { locationOfMistake } from './mistake-location.js';

/** How long Node may take to check the syntax of a file, in ms. */
const CHECK_MS = 5000;
/**
 * The text that Node prints before a syntax error: file and line, the line, and a mark below the place, except at the
 * end of the file.
 */
const PLACE = /^(\S+):(\d+)\n.*\n( *)\^*\n/m;
/** A module that uses `import` or `export` is read as CommonJS. */
const IS_COMMONJS = /import statement outside a module|Unexpected token 'export'/;
const NO_PACKAGE = /^Cannot find (?:package 'drover'|module 'drover\/)/;

/** Files whose syntax is checked: those that a module imports are usually right. */
const MAX_CHECKED = 16;

/**
 * Why the module with this URL could not be imported, in one line.
 * @param files the URLs of the files that were read for it, as far as is known.
 */
export async function explainLoadError(
  thrown: unknown,
  module: string,
  files: readonly string[] = [module],
): Promise<string> {
  const message = messageOf(thrown);
  if (NO_PACKAGE.test(message)) {
    const folder = path.dirname(fileURLToPath(module));
    return `${message}: install it there, for example with: cd ${folder} && npm install ${PACKAGE_DIR}`;
  }
  if (!(thrown instanceof SyntaxError)) {
    const mistake = locationOfMistake(thrown);
    return mistake === undefined ? message : `${message} (${mistake})`;
  }
  const place = placeIn(String(thrown.stack)) ?? (await placeAmong(files));
  const where = place === undefined ? message : `${message} (${place})`;
  if (!IS_COMMONJS.test(message)) return where;
  return `${where}: its package.json says that .js files are CommonJS; name the file .mjs, or set "type": "module" there`;
}

/** `<path>:<line>:<column>` */
function placeIn(text: string): string | undefined {
  const [, file = '', line, indent = ''] = PLACE.exec(text) ?? [];
  if (line === undefined) return undefined;
  const shown = file.startsWith('file:') ? fileURLToPath(file) : file;
  return `${shown}:${line}:${indent.length + 1}`;
}

async function placeAmong(files: readonly string[]): Promise<string | undefined> {
  for (const file of files.slice(0, MAX_CHECKED)) {
    if (file.includes('/node_modules/')) continue;
    const place = placeIn(await checkSyntax(file));
    if (place !== undefined) return place;
  }
  return undefined;
}

/** Node's message about the file, because the error of an import() does not have the place. Never rejects. */
function checkSyntax(module: string): Promise<string> {
  return new Promise((resolve) => {
    const args = ['--check', fileURLToPath(module)];
    execFile(process.execPath, args, { timeout: CHECK_MS }, (_, __, stderr) => resolve(stderr));
  });
}
