// `drover bots create --file`: many bots with one request.

import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ApiError } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { type ConnectionOptions, connect } from '../connection/connection.js';
import { exitCodeOf, followOperation, operationBots } from '../connection/operation-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { complain } from '../terminal/action.js';
import { printJson, printLine } from '../terminal/output.js';

/** Between the faults of two lines in an error of the service. */
const NEXT_FAULT = /; (?=line \d+: |and \d+ more lines)/;
const FAULTS = /^line \d+: /;

export interface CreateManyOptions extends ConnectionOptions {
  file: string;
  wait: boolean;
  json?: true;
}

/** @throws CliError when a line is wrong: each of them is complained of before. */
export async function createMany({ file, ...options }: CreateManyOptions): Promise<number> {
  const connection = connect(options);
  const { client, call } = connection;
  const lines = await textOf(file);
  const begun = await client.bots
    .createMany(lines, { ...call(), wait: 0 })
    .catch((thrown: unknown) => {
      throw refusalOf(file, thrown);
    });
  const operation = options.wait ? await followOperation(connection, begun) : begun;
  if (options.json) await printJson(operation);
  else await printLine(`${operation.id} ${operation.title}: ${operation.state}`);
  if (!options.wait) return EXIT.ok;
  if (operation.counts.failed > 0) {
    for (const { id, error } of await operationBots(connection, operation.id, ['failed'])) {
      complain(`${id}: ${error}`);
    }
  }
  return exitCodeOf(operation);
}

async function textOf(file: string): Promise<string> {
  try {
    return await (file === '-' ? text(process.stdin) : readFile(file, 'utf8'));
  } catch (thrown) {
    throw new CliError(EXIT.usage, `--file ${file}: ${messageOf(thrown)}`);
  }
}

function refusalOf(file: string, thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status !== 400) return thrown;
  if (!FAULTS.test(thrown.message)) return thrown;
  for (const fault of thrown.message.split(NEXT_FAULT)) complain(fault);
  return new CliError(EXIT.usage, `no bot was created: correct ${file} and create them again`);
}
