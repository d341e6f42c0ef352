// The messages between a front and a bot host: commands, cancellations, outcomes. The fields of several commands are in one flat
// list: structured clone takes 1.3 µs for each then, and 2.1 µs for each in a list of objects (measured).

import { DroverError, ERRORS, type ErrorCode } from '../errors.js';

/** Commands that one run may offer. */
export const MAX_OFFERED_COMMANDS = 500;

/**
 * The permit of a command that does not depend on the bot's labels. The permit of a bot is another number (threads.ts,
 * BotStart).
 */
export const ANY_PERMIT = 0;

/** Sent from a front, or main, to a bot host. */
export type CommandMessage =
  /** `sentAt` is in s of process.uptime(), which all threads share. */
  | { type: 'run'; sentAt: number; commands: CommandList }
  /** The client of this command has gone. */
  | { type: 'cancel'; id: number };

/** Id, bot, command, arguments (an object as JSON) and permit of each. */
export type CommandList = (number | string)[];

/** Sent from a bot host: {@link TAKEN}, {@link LATER} or {@link ENDED}, then id, code and text of each. */
export type OutcomeList = (number | string)[];

/** The list answers a message with commands: the outcomes that have come at once, which may be none. */
export const TAKEN = 1;
/** The list has outcomes of commands that took longer. */
export const LATER = 0;
/** The host ends, after it has stopped its bots: what has no outcome it has not begun. The last list of a channel. */
export const ENDED = 2;

/** The result as JSON, or why there is none. */
export type CommandOutcome = string | DroverError;

const COMMAND_FIELDS = 5;
const OUTCOME_FIELDS = 3;
/** Codes that are not those of errors. */
const RESULT = 'result';
const NOT_HERE = 'not here';

export function eachCommand(
  list: CommandList,
  take: (id: number, bot: string, command: string, args: string, permit: number) => void,
): void {
  for (let at = 0; at < list.length; at += COMMAND_FIELDS) {
    take(
      list[at] as number,
      list[at + 1] as string,
      list[at + 2] as string,
      list[at + 3] as string,
      list[at + 4] as number,
    );
  }
}

/** @param outcome null: the bot does not run on this host, or has another permit; nothing was done and nothing is on the stream. */
export function addOutcome(list: OutcomeList, id: number, outcome: CommandOutcome | null): void {
  if (outcome === null) list.push(id, NOT_HERE, '');
  else if (typeof outcome === 'string') list.push(id, RESULT, outcome);
  else list.push(id, outcome.code, outcome.message);
}

export function eachOutcome(
  list: OutcomeList,
  take: (id: number, outcome: CommandOutcome | null) => void,
): void {
  for (let at = 1; at < list.length; at += OUTCOME_FIELDS) {
    const id = list[at] as number;
    const code = list[at + 1] as string;
    const text = list[at + 2] as string;
    if (code === RESULT) take(id, text);
    else take(id, code === NOT_HERE ? null : new DroverError(code as ErrorCode, text));
  }
}

/** Whether these can be the code and the text of an outcome. */
export function isOutcome(code: unknown, text: unknown): boolean {
  if (typeof code !== 'string' || typeof text !== 'string') return false;
  return code === RESULT || code === NOT_HERE || Object.hasOwn(ERRORS, code);
}

/** The deadline of a command has passed. */
export function noAnswer(command: string, timeoutMs: number): DroverError {
  return new DroverError('no_answer', `${command} did not answer within ${timeoutMs} ms`);
}

/** The abort reason of a command whose client has gone. */
export function nobodyWaits(): DroverError {
  return new DroverError('no_answer', 'nobody waits for the answer any more');
}

/** The error that the stream reports for such a command. */
export function clientGone(): DroverError {
  return new DroverError('no_answer', 'the client has gone, the command is cancelled');
}
