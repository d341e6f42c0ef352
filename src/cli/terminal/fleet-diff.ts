import type { FleetPlan, FleetStep } from '../../client/index.js';
import type { Printed } from '../../shared/terminal.js';

/** Bots with the same action that are shown; the others are counted. `--json` has all. */
const MAX_SHOWN = 100;
/** A longer value is cut, in UTF-16 units. */
const MAX_VALUE = 120;

const GREEN = 32;
const RED = 31;
const YELLOW = 33;
const SIGNS: Readonly<Record<FleetStep['action'], readonly [sign: string, color: number]>> = {
  delete: ['-', RED],
  replace: ['-/+', YELLOW],
  change: ['~', YELLOW],
  create: ['+', GREEN],
  refuse: ['!', RED],
};
const ACTIONS = Object.keys(SIGNS) as FleetStep['action'][];

/** What changes, as lines for people. Refusals are not among them. */
export function fleetDiff({ steps }: FleetPlan, isColored: boolean): Printed[] {
  return ACTIONS.filter((action) => action !== 'refuse').flatMap((action) => {
    const own = steps.filter((step) => step.action === action);
    const [sign, color] = SIGNS[action];
    const line = (text: string): Printed[] => [isColored ? { color, text } : text, '\n'];
    const shown = own
      .slice(0, MAX_SHOWN)
      .flatMap((step) => [
        ...line(`${sign} ${step.id} (${step.kind})${step.adopted ? ', belonged to no fleet' : ''}`),
        ...detailsOf(step).flatMap((text) => line(`    ${text}`)),
      ]);
    const more = own.length - MAX_SHOWN;
    return more > 0 ? [...shown, ...line(`${sign} and ${more} more (--json has all)`)] : shown;
  });
}

function detailsOf({ action, changes = {}, secrets = [], adopted }: FleetStep): string[] {
  const values = Object.entries(changes).map(([path, { from, to }]) =>
    from === undefined && to === undefined
      ? `${path}: changed`
      : `${path}: ${textOf(from)} -> ${textOf(to)}`,
  );
  const all = [...values, ...secrets.map((path) => `config.${path}: changed (secret)`)];
  const isSettled = action === 'change' && all.length === 0 && !adopted;
  return isSettled ? ['what was changed by hand is now in the file'] : all;
}

function textOf(value: unknown): string {
  if (value === undefined) return 'none';
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
