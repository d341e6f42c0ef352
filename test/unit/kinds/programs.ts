// Starts bots of programs in the test's own process, with the code that runs them in a bot host.

import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { startBot, type TestBot, type TestOptions } from '../../../src/bot-host/testing.js';
import { programKind } from '../../../src/kinds/program/program-kind.js';
import { programOf } from '../../../src/main/bots/program-definitions.js';
import type { ProgramDefinition } from '../../../src/shared/contract/programs.js';

export const PROGRAMS_DIR = fileURLToPath(new URL('../../fixtures/programs', import.meta.url));
/** No test waits for it: it only ends a hang. */
const WITHIN_MS = 60_000;

/** A program that is a line of Python; nothing buffers its output. */
export function python(code: string): string[] {
  return ['python3', '-u', '-c', code];
}

/** Starts a bot of the program. It is stopped at the end of the test. */
export async function startProgram(
  definition: ProgramDefinition,
  { graceMs = 1000, ...options }: TestOptions & { graceMs?: number } = {},
): Promise<TestBot> {
  const kind = programKind(programOf('program', definition, PROGRAMS_DIR, graceMs));
  const bot = await startBot(kind, options);
  onTestFinished(() => bot.stop(WITHIN_MS));
  return bot;
}

export function until(bot: TestBot, condition: () => boolean): Promise<void> {
  return bot.until(condition, WITHIN_MS);
}

/** Resolves with the reason for which the run has failed, or null. */
export async function endOf(bot: TestBot): Promise<string | null> {
  await until(bot, () => bot.end !== null);
  return bot.end?.error ?? null;
}
