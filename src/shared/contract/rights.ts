// Not with the schemas in tokens.ts, because a front starts without schemas.

import { hasLabels } from './labels.js';
import type { Reach, Rights, Scope } from './tokens.js';

/** Whether these rights are enough for what needs `scope`. */
export function allows({ scopes }: Rights, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Whether a bot with this id and these labels is one of those that `reach` is limited to. */
export function reaches(
  reach: Reach,
  id: string,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (reach === null) return true;
  return 'bots' in reach ? reach.bots.includes(id) : hasLabels(labels, reach.labels);
}
