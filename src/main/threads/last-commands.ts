// Runs in main. Owns the list of the last commands of a bot host that are hidden. The host writes the commands.

import type { CommandLog } from '../../shared/memory/command-log.js';

export class LastCommands {
  readonly #log: CommandLog;
  /** Commands of these bots below this number are not shown. Bounded by the log: only bots of commands that it has. */
  readonly #forgotten = new Map<string, number>();

  constructor(log: CommandLog) {
    this.#log = log;
  }

  /** Oldest first, each `<command> on <bot>`. */
  list(): string[] {
    return this.#log
      .read()
      .filter(({ number, bot }) => number >= (this.#forgotten.get(bot) ?? 0))
      .map(({ command, bot }) => `${command} on ${bot}`);
  }

  /** Forgets the commands of a bot until now. */
  forget(bot: string): void {
    const { count } = this.#log;
    if (count === 0) return;
    const bots = new Set(this.#log.read().map((logged) => logged.bot));
    for (const other of this.#forgotten.keys()) if (!bots.has(other)) this.#forgotten.delete(other);
    if (bots.has(bot)) this.#forgotten.set(bot, count);
  }
}
