import type { FleetPlan } from './fleet.js';

/** What a plan does, in one line. @param isDone whether it was applied, or would be. */
export function fleetSummary(
  { fleet, steps, unchanged, unlisted }: FleetPlan,
  isDone: boolean,
): string {
  const verbs = { create: 'create', change: 'change', replace: 'replace', delete: 'delete' };
  const parts = Object.entries(verbs).flatMap(([action, verb]) => {
    const own = steps.filter((step) => step.action === action);
    const done = own.filter(({ error }) => error === undefined).length;
    if (own.length === 0) return [];
    return isDone ? `${done} ${verb}d` : `${own.length} to ${verb}`;
  });
  const failed = steps.filter(({ error }) => error !== undefined).length;
  const refused = steps.filter(({ action }) => action === 'refuse').length;
  if (failed > 0) parts.push(`${failed} failed`);
  if (refused > 0) parts.push(`${refused} refused`);
  parts.push(`${unchanged} unchanged`);
  if (unlisted.length > 0) parts.push(`${unlisted.length} not in the file (--prune deletes them)`);
  return `fleet ${fleet}: ${parts.join(', ')}`;
}
