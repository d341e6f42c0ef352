import { DroverError } from '../../shared/errors.js';

/** There is no host for a bot now. That is not the bot's fault, and it tries again. */
export class NoHostError extends DroverError {
  constructor(message: string) {
    super('unavailable', message);
  }
}
