import type { BotContext, BotKind } from '../bot-sdk/index.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import { DroverError } from '../shared/errors.js';
import { unlessAborted } from '../shared/unless-aborted.js';
import type { BotLines } from './bot-lines.js';
import { type CurrentRun, runAsBot } from './current-bot.js';
import { errorText } from './error-text.js';
import type { SecretMask } from './secret-mask.js';

/** Largest result of a command, as JSON, in bytes: it crosses two threads on its way. */
const MAX_RESULT_BYTES = 1_048_576;

export interface CommandInput {
  command: string;
  args: JsonObject;
  timeoutMs: number;
  /** Aborted when nobody waits for the result any more. */
  cancelled?: AbortSignal | undefined;
}

/**
 * Runs a command of a bot. Rejects with `not_found`, `command_failed`, `conflict` when the bot stops, or `no_answer` after
 * the timeout.
 */
export async function callCommand(
  { commands }: BotKind,
  run: CurrentRun,
  context: BotContext,
  lines: BotLines,
  { command: name, args, timeoutMs, cancelled }: CommandInput,
): Promise<Json> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new DroverError('not_found', `no command ${JSON.stringify(name)}`);
  lines.mask.hear(args);
  const call = new AbortController();
  const stop = (): void => call.abort(new DroverError('conflict', `bot ${run.id} has stopped`));
  const cancel = (): void =>
    call.abort(new DroverError('no_answer', 'nobody waits for the answer any more'));
  const deadline = setTimeout(() => {
    call.abort(new DroverError('no_answer', `${name} did not answer within ${timeoutMs} ms`));
  }, timeoutMs);
  // Not AbortSignal.any: on Node 20 it retains memory for each call as long as the bot's signal exists.
  context.signal.addEventListener('abort', stop);
  cancelled?.addEventListener('abort', cancel);
  if (cancelled?.aborted) cancel();
  const result = runAsBot(run, async () => {
    try {
      return toJson(await command.run(context, args, { signal: call.signal }), lines.mask);
    } catch (thrown) {
      throw new DroverError('command_failed', errorText(thrown, lines));
    }
  });
  try {
    return await unlessAborted(result, call.signal);
  } finally {
    clearTimeout(deadline);
    context.signal.removeEventListener('abort', stop);
    cancelled?.removeEventListener('abort', cancel);
  }
}

/** The result as plain JSON, which can cross threads and cannot change later, without the bot's secrets. */
function toJson(result: unknown, mask: SecretMask): Json {
  const text = JSON.stringify(result);
  if (text === undefined) return null;
  const size = Buffer.byteLength(text);
  if (size > MAX_RESULT_BYTES) {
    throw new RangeError(`a result of ${size} bytes is too large, ${MAX_RESULT_BYTES} are allowed`);
  }
  return mask.json(JSON.parse(text) as Json);
}
