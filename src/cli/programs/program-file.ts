import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { MANIFEST, readManifest } from '../../main/bots/program-definitions.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { ProgramDefinition } from '../../shared/contract/programs.js';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';

/** A program to be tested. */
export interface TestedProgram {
  kind: string;
  definition: ProgramDefinition;
  cwd: string;
  /** JSON Schema of its configuration; null when it is not known. */
  config: JsonObject | null;
}

/**
 * @param file a manifest, a file in Python, another file, or the name of a program in the PATH. @throws CliError when it cannot be
 *   started.
 */
export function programAt(file: string, args: readonly string[]): TestedProgram {
  const path = resolve(file);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CliError(EXIT.usage, `${path} is a directory: name a file`);
  if (!stats) {
    // Looked for in the PATH when it is started.
    if (!/[/\\]|\.(?:py|json)$/.test(file)) return commandOf(file, ...args);
    throw new CliError(EXIT.usage, `there is no file ${path}`);
  }
  if (path.endsWith(MANIFEST) && args.length === 0) return manifestAt(path);
  if (path.endsWith('.py')) return commandOf('python3', path, ...args);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new CliError(
      EXIT.usage,
      `${path} is not executable: chmod +x it, or name what runs it: drover kinds test -- sh ${file}`,
    );
  }
  return commandOf(path, ...args);
}

function commandOf(...command: string[]): TestedProgram {
  const definition = { command, protocol: 'jsonl' } as const;
  return { kind: 'test', definition, cwd: process.cwd(), config: null };
}

function manifestAt(path: string): TestedProgram {
  let program: TestedProgram;
  try {
    program = readManifest(path, 0);
  } catch (thrown) {
    throw new CliError(EXIT.usage, `${path}: ${messageOf(thrown)}`);
  }
  const { protocol } = program.definition;
  if (protocol === 'jsonl') return program;
  throw new CliError(
    EXIT.usage,
    `${path}: only programs of protocol jsonl can be tested, not ${protocol}`,
  );
}
