import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { JsonObject } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';

/** How a program is started. */
export interface Program {
  command: [file: string, ...args: string[]];
  cwd: string;
  env: Record<string, string>;
  /** JSON Schema of its configuration; null when it is not known. */
  config: JsonObject | null;
}

/** The end of the name of a manifest. */
export const MANIFEST_END = '.program.json';

/**
 * @param file a manifest, a file in Python, another file, or the name of a program in the PATH. @throws CliError when it cannot be
 *   started.
 */
export function programOf(file: string, args: readonly string[]): Program {
  const path = resolve(file);
  const plain = { cwd: process.cwd(), env: {}, config: null };
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CliError(EXIT.usage, `${path} is a directory: name a file`);
  if (!stats) {
    // Looked for in the PATH when it is started.
    if (!/[/\\]|\.(?:py|json)$/.test(file)) return { command: [file, ...args], ...plain };
    throw new CliError(EXIT.usage, `there is no file ${path}`);
  }
  if (path.endsWith(MANIFEST_END) && args.length === 0) return manifestAt(path);
  if (path.endsWith('.py')) return { command: ['python3', path, ...args], ...plain };
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new CliError(
      EXIT.usage,
      `${path} is not executable: chmod +x it, or name what runs it: drover kinds test -- sh ${file}`,
    );
  }
  return { command: [path, ...args], ...plain };
}

function manifestAt(path: string): Program {
  const fail = (what: string): never => {
    throw new CliError(EXIT.usage, `${path}: ${what}`);
  };
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    return fail(messageOf(thrown));
  }
  if (!isObject(manifest)) return fail('it must hold a JSON object');
  const { command, protocol, cwd = '.', env = {}, config = null } = manifest;
  if (!isCommand(command)) {
    return fail('command must be a list of words, as ["python3", "bot.py"]');
  }
  if (protocol !== 'jsonl') {
    return fail(`only programs of protocol jsonl can be tested, not ${JSON.stringify(protocol)}`);
  }
  if (typeof cwd !== 'string') return fail('cwd must be string');
  if (!isObject(env) || !Object.values(env).every((value) => typeof value === 'string')) {
    return fail('env must be an object of strings');
  }
  if (config !== null && !isObject(config)) return fail('config must be a JSON Schema');
  return {
    command,
    cwd: resolve(dirname(path), cwd),
    env: env as Record<string, string>,
    config: config as JsonObject | null,
  };
}

function isCommand(value: unknown): value is [string, ...string[]] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
