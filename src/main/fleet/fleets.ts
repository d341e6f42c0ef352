// Runs in main. Brings bots to what fleet files say. Owns the turn of the one that is being applied.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.js';
import type { FleetBody, FleetExport, FleetPlan } from '../../shared/contract/fleet.js';
import { isFleetName } from '../../shared/contract/fleet.js';
import { reaches } from '../../shared/contract/rights.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { botsText, firstOf } from '../../shared/counted.js';
import { DroverError } from '../../shared/errors.js';
import type { PressureGauge } from '../access/pressure-gauge.js';
import type { BotRegistry } from '../bots/registry.js';
import type { OperationTask } from '../operations/operation.js';
import type { Operations } from '../operations/operations.js';
import { type PlannedStep, planBot } from './plan.js';

/** Bots that are compared, or changed, before other work of main gets its turn. */
const SLICE_BOTS = 100;
/** Refusals that an error names. A dry run has all. */
const MAX_TOLD = 5;

export interface FleetsParts {
  registry: BotRegistry;
  pressure: Pick<PressureGauge, 'admitStart' | 'report'>;
  operations: Pick<Operations, 'add'>;
  /** Null in a single service. */
  node: Cluster['node'];
}

export interface FleetInput {
  fleet: string;
  body: FleetBody;
  rights: Rights;
  /** Who applies it. */
  by: OperationTask['actor'];
}

interface Planned extends FleetPlan {
  planned: PlannedStep[];
}

export class Fleets {
  readonly #parts: FleetsParts;
  /** The fleet that is compared or applied. Others are refused meanwhile, and not queued: each holds thousands of bots. */
  #current: string | undefined;

  constructor(parts: FleetsParts) {
    this.#parts = parts;
  }

  /** @throws as ControlMethods.applyFleet says. */
  async apply(input: FleetInput): Promise<FleetPlan> {
    const { fleet, body, rights } = input;
    if (rights.reach !== null) {
      throw new DroverError(
        'forbidden',
        'this token is limited to some bots, a fleet needs one that is not',
      );
    }
    if (!isFleetName(fleet)) {
      throw new DroverError('bad_request', `${JSON.stringify(fleet)} is no name of a fleet`);
    }
    if (this.#parts.node !== null) {
      throw new DroverError(
        'conflict',
        'this service is a node of a cluster, where fleet files cannot be applied yet: create its bots with drover bots create',
      );
    }
    if (this.#current !== undefined) {
      throw new DroverError(
        'conflict',
        `the fleet ${this.#current} is being applied, try again later`,
      );
    }
    this.#current = fleet;
    try {
      const { planned, ...plan } = await this.#plan(input);
      if (body.dry_run) return plan;
      this.#admit(planned);
      if (planned.length === 0) return plan;
      return { ...plan, operation: await this.#carryOut(planned, input) };
    } finally {
      this.#current = undefined;
    }
  }

  /** What bots look like in a fleet file. */
  export({ ids, rights: { reach } }: { ids: readonly string[]; rights: Rights }): FleetExport {
    const { registry } = this.#parts;
    const variables = new Set<string>();
    const fleets = new Set<string>();
    const bots = ids.toSorted().flatMap((id) => {
      const labels = registry.labelsOf(id);
      if (labels === undefined || !reaches(reach, id, labels)) return [];
      const { fleet } = registry.specOf(id) ?? {};
      if (fleet) fleets.add(fleet.name);
      const bot = registry.exported(id, (path) => {
        // A variable does not begin with a digit.
        const base = `${id}_${path}`.replace(/\W/g, '_').replace(/^\d/, '_$&').toUpperCase();
        let name = base;
        // `a.b` and `a-b` have one name.
        for (let n = 2; variables.has(name); n += 1) name = `${base}_${n}`;
        variables.add(name);
        return { $env: name };
      });
      return [bot];
    });
    return { bots, variables: [...variables], fleets: [...fleets] };
  }

  async #plan({ fleet, body, rights }: FleetInput): Promise<Planned> {
    const { registry } = this.#parts;
    const planned: PlannedStep[] = [];
    const listed = new Set<string>();
    let unchanged = 0;
    for (const bot of body.bots) {
      if (listed.has(bot.id))
        throw new DroverError('bad_request', `bot ${bot.id} is in the list twice`);
      listed.add(bot.id);
      const step = planBot(registry, bot, fleet, rights);
      if (step) planned.push(step);
      else unchanged += 1;
      if (listed.size % SLICE_BOTS === 0) await nextTurn();
    }
    const others = registry
      .specs()
      .filter(({ id, fleet: mark }) => mark?.name === fleet && !listed.has(id));
    if (body.prune) {
      for (const { id, kind } of others) planned.push({ step: { id, kind, action: 'delete' } });
    }
    return {
      fleet,
      steps: planned.map(({ step }) => step),
      unchanged,
      unlisted: body.prune ? [] : others.map(({ id }) => id),
      planned,
    };
  }

  /** @throws DroverError when not all of it can be done. */
  #admit(planned: readonly PlannedStep[]): void {
    const refused = planned.filter(({ step }) => step.action === 'refuse');
    if (refused.length > 0) throw new DroverError('conflict', refusal(refused));
    const count = (name: string): number =>
      planned.filter(({ step }) => step.action === name).length;
    const created = count('create');
    if (created === 0) return;
    const { pressure } = this.#parts;
    pressure.admitStart();
    const { present, limit } = pressure.report().bots;
    if (present - count('delete') + created > limit) {
      throw new DroverError(
        'unavailable',
        `bot limit reached: there are ${present} bots, the fleet adds ${created}, and ${limit} may exist (pressure.max_bots)`,
      );
    }
  }

  /** Deletes first: new bots may need the places. What fails is in its step. @returns the id of the operation. */
  async #carryOut(planned: readonly PlannedStep[], input: FleetInput): Promise<string> {
    const isDeletion = ({ step }: PlannedStep): boolean => step.action === 'delete';
    const deletions = planned.filter(isDeletion);
    const ordered = [...deletions, ...planned.filter((one) => !isDeletion(one))];
    const byId = new Map(ordered.map((one) => [one.step.id, one]));
    const operation = await this.#parts.operations.add({
      type: 'apply',
      title: `apply fleet ${input.fleet} to ${botsText(ordered.length)}`,
      actor: input.by,
      bots: ordered.map(({ step }) => step.id),
      // The store writes what comes together in one transaction.
      options: { parallel: SLICE_BOTS, stagger_ms: 0, max_failed: null },
      ...(deletions.length > 0 && { gate: { after: deletions.length, check: async () => {} } }),
      run: async (id) => {
        const one = byId.get(id) as PlannedStep;
        await this.#change(one, input);
        return { status: this.#parts.registry.statusOf(id) ?? 'deleted' };
      },
      ended: ({ id, error }) => {
        const step = byId.get(id)?.step;
        if (step && error !== null) step.error = error;
      },
    });
    await operation.ended;
    return operation.id;
  }

  async #change({ step, input, next }: PlannedStep, { fleet, rights }: FleetInput): Promise<void> {
    const { registry } = this.#parts;
    const { id, action } = step;
    if (action === 'delete') return registry.act(id, 'delete');
    if (action === 'change' && next) return registry.bring(next, rights);
    if (!input) return;
    if (action === 'replace') await registry.act(id, 'delete');
    if (input.desired === 'running') registry.admitHost(input, rights.reach);
    await registry.create(input, 'many', fleet);
  }
}

function refusal(refused: readonly PlannedStep[]): string {
  const told = refused.map(({ step: { id, reason } }) => `bot ${id}: ${reason}`);
  return `nothing was changed: ${firstOf(told, MAX_TOLD)}`;
}
