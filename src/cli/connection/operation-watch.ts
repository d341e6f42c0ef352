// Follows an operation of the service until it ends.

import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Operation, type OperationBot } from '../../client/index.js';
import { hasEnded } from '../../shared/contract/operation-bounds.js';
import { progressText } from '../../shared/contract/operation-text.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { stopSignal } from '../stop-signals.js';
import { complain } from '../terminal/action.js';
import { progressBar, showProgress } from '../terminal/progress.js';
import type { Connection } from './connection.js';

/** How often the bar moves, in ms. A request waits so long for the end. */
const POLL_MS = 500;

/**
 * Shows a bar on a terminal until the operation has ended. After Ctrl-C it continues, and the way to it is told.
 * @param isOver whether it is not followed further. @returns it as it is then. @throws CliError when the token may not read operations.
 */
export async function followOperation(
  { client, call }: Connection,
  begun: Operation,
  isOver: (operation: Operation) => boolean = () => false,
): Promise<Operation> {
  let operation = begun;
  try {
    while (!hasEnded(operation) && !isOver(operation)) {
      showBar(operation);
      const asked = performance.now();
      operation = await client.operations.get(begun.id, { ...call(), wait: POLL_MS });
      // A service where many wait answers earlier.
      if (!hasEnded(operation) && performance.now() - asked < POLL_MS / 2) await delay(POLL_MS);
    }
    return operation;
  } catch (thrown) {
    if (stopSignal.aborted || (thrown instanceof ApiError && thrown.status === 0)) {
      complain(goesOn(begun.id));
    }
    if (!(thrown instanceof ApiError) || thrown.status !== 403) throw thrown;
    throw new CliError(EXIT.not_allowed, `${thrown.message} to follow it; ${goesOn(begun.id)}`);
  }
}

/** What has become of its bots. @param results of these only. */
export async function operationBots(
  { client, call }: Connection,
  id: string,
  results?: readonly OperationBot['result'][],
): Promise<OperationBot[]> {
  const found: OperationBot[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: LIMIT.maximum, cursor, result: results };
    const page = await client.operations.bots(id, { ...call(), ...query });
    for (const bot of page.bots) found.push(bot);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return found;
}

/** The exit code that tells how it has ended. */
export function exitCodeOf({ state, counts }: Operation): number {
  const { failed, unknown } = counts;
  return state === 'done' && failed + unknown === 0 ? EXIT.ok : EXIT.failed;
}

function showBar(operation: Operation): void {
  const { bots, counts } = operation;
  showProgress(
    `${progressBar(bots - counts.waiting - counts.running, bots)} ${progressText(operation)}`,
  );
}

function goesOn(id: string): string {
  return `the operation continues: drover operations watch ${id} follows it, drover operations cancel ${id} ends it`;
}
