// Runs in main. Owns the fleet file that the service keeps its bots to (`drover start --fleet`).

import { fleetSummary } from '../../shared/contract/fleet-summary.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { messageOf, StartupError } from '../../shared/errors.js';
import { openFleet } from '../../shared/fleet/fleet-file.js';
import type { Fleet } from '../../shared/fleet/read-fleet.js';
import type { Fleets } from './fleets.js';

/** The file is the operator's. */
const RIGHTS: Rights = { scopes: ['admin'], reach: null };
const ACTOR = { name: 'drover start --fleet', token: '' };
/** Lines about bots that could not be changed; the others are counted. */
const MAX_LINES = 20;

type Say = (level: 'info' | 'warn' | 'error', line: string) => void;

/** @throws StartupError with `file:line:column` of each fault. */
export async function readKeptFleet(path: string): Promise<Fleet> {
  try {
    return await openFleet(path);
  } catch (thrown) {
    throw new StartupError(messageOf(thrown));
  }
}

export class KeptFleet {
  readonly #path: string;
  readonly #fleets: Pick<Fleets, 'apply'>;
  readonly #say: Say;

  constructor(path: string, fleets: Pick<Fleets, 'apply'>, say: Say) {
    this.#path = path;
    this.#fleets = fleets;
    this.#say = say;
  }

  /**
   * Reads the file, and checks it against the bots and the kinds. @param fleet what was read already.
   * @returns what applies it, and says what that has changed in a line. @throws StartupError with `file:line:column` of each fault.
   */
  async check(fleet?: Fleet): Promise<() => Promise<string>> {
    const { name, bots, placeOf } = fleet ?? (await readKeptFleet(this.#path));
    const input = (dry_run: boolean) => ({
      fleet: name,
      body: { bots, prune: true, dry_run },
      rights: RIGHTS,
      by: ACTOR,
    });
    const { steps } = await this.#fleets.apply(input(true));
    const refused = steps.filter(({ action }) => action === 'refuse');
    if (refused.length > 0) {
      const faults = refused.map(({ id, reason }) => `${placeOf(id)}: bot ${id}: ${reason}`);
      throw new StartupError(faults.slice(0, MAX_LINES).join('; '));
    }
    return async () => {
      const plan = await this.#fleets.apply(input(false));
      const failed = plan.steps.filter(({ error }) => error !== undefined);
      for (const { id, error } of failed.slice(0, MAX_LINES)) {
        this.#say('error', `fleet ${name}: bot ${id}: ${error}`);
      }
      return `${this.#path} was applied: ${fleetSummary(plan, true)}`;
    };
  }
}
