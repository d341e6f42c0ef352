// Not part of the public package: what the kinds that ship can do beside it.

import type { BotKind } from './index.js';

/** A context of a kind that is a program: its commands are known when the bot runs, and reasons quote what it has written. */
export interface RunTimeCommands {
  /**
   * These are the commands of this run from now on, in place of those of the kind. Clients see those of the bot that offered
   * some last as the commands of the kind. @throws Error for a schema that is not valid, or too many commands.
   */
  offerCommands(commands: BotKind['commands']): void;
  /** The text without the bot's secrets. What is cut afterwards shows no half of one. */
  masked(text: string): string;
  /** To be called before anything is sent to the program. @throws Error when this node has lost its lease in the cluster. */
  checkLease(): void;
}
