import { DroverError } from './errors.js';

/** The error for an unknown bot, and for one that the caller does not reach. */
export function noBot(id: string): DroverError {
  return new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
}

/** The error for an unknown kind. */
export function noKind(kind: string): DroverError {
  return new DroverError('not_found', `no bot kind ${JSON.stringify(kind)}`);
}

/** Whether the error says that there is no such bot, not that the bot has no such command. */
export function isNoBot(thrown: unknown, id: string): boolean {
  const { code, message } = noBot(id);
  return thrown instanceof DroverError && thrown.code === code && thrown.message === message;
}
