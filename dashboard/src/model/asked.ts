// Runs in tabs. Owns the pending question about bots: the views and the palette ask it, the frame shows its dialog.

import { effect, signal } from '@preact/signals';
import type { BotAction } from '../../../src/client/index.js';
import { session } from './session.js';

/** The ids are fixed when it is asked, so that the user confirms exactly what is shown. */
export interface Asked {
  /** `command` asks which one to run, `config` what to change, `rollout` what to roll out. */
  action: BotAction | 'command' | 'config' | 'rollout';
  ids: readonly string[];
  /** Of a rollout to all bots of a kind; the ids are empty then. */
  kind?: string;
  /** Called when the action is done, with the errors by id. */
  onDone?: (errors: ReadonlyMap<string, string>) => void;
}

export const asked = signal<Asked | null>(null);

export function ask(question: Asked): void {
  asked.value = question;
}

effect(() => {
  // The question was about the bots of the previous session.
  void session.value;
  asked.value = null;
});
