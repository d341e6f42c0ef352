import { Dispatcher } from '../../shared/commands/dispatcher.js';
import type { HostCommands } from '../../shared/commands/host-commands.js';
import type {
  ActionOutcome,
  BotAction,
  Incident,
  IncidentBot,
} from '../../shared/contract/bots.js';
import { ANY_PERMIT } from '../../shared/contract/command-messages.js';
import type { BotChange } from '../../shared/contract/config-changes.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { allows, reaches } from '../../shared/contract/rights.js';
import { answerable } from '../../shared/contract/rpc.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import type { Reach, Rights } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { causeOf } from '../../shared/incidents/cause.js';
import { noBot } from '../../shared/no-bot.js';
import { countedOf, IncidentGroups } from '../bots/incident-groups.js';
import { botOfCommand } from '../bots/incidents.js';
import type { BotRegistry } from '../bots/registry.js';
import { listOf, type ShowIncident } from '../store/incident-store.js';
import { admittedBot, admittedChange } from './bot-choices.js';
import type { PressureGauge } from './pressure-gauge.js';

/** Commands of the service that cause a fault on purpose. */
const ADMIN_COMMANDS: ReadonlySet<string> = new Set(['drill']);

type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];
type Labels = Readonly<Record<string, string>>;
type Output<K extends keyof ControlMethods> = ReturnType<ControlMethods[K]>;

/** The service's own commands, and the lines about those that had no result. */
interface ServiceCalls {
  run(command: string, args: JsonObject): Promise<Json>;
  failed(failure: { bot: string | null; command: string; reason: string }): void;
}

export interface BotAccessParts {
  registry: BotRegistry;
  pressure: PressureGauge;
  commands: ServiceCalls;
  /** Main's own channels to the hosts, for other nodes. */
  hostCommands: Pick<HostCommands, 'run' | 'hasRoom'>;
  /** The rights of all tokens. */
  tokens: () => readonly Rights[];
}

/**
 * Applies a token's limit to some bots to each operation: a bot outside of the limit does not exist for the caller. The
 * fronts check scopes (src/shared/contract/routes/table.ts); only main knows the bots' current labels.
 */
export class BotAccess {
  readonly #registry: BotRegistry;
  readonly #pressure: PressureGauge;
  readonly #commands: ServiceCalls;
  readonly #tokens: () => readonly Rights[];
  readonly #dispatcher: Dispatcher;

  constructor({ registry, pressure, commands, hostCommands, tokens }: BotAccessParts) {
    this.#registry = registry;
    this.#pressure = pressure;
    this.#commands = commands;
    this.#tokens = tokens;
    this.#dispatcher = new Dispatcher({
      hosts: hostCommands,
      targets: (input) => this.commandTargets(input),
      failed: (failure) => commands.failed(failure),
      hostOf: () => null,
    });
  }

  async create({ bot, rights }: Input<'createBot'>): Promise<void> {
    const { reach } = rights;
    if (!reaches(reach, bot.id, bot.labels)) throw beyond(reach);
    this.#checkLabels(rights, reach && 'labels' in reach ? reach.labels : {}, bot.labels);
    // A limited caller must not learn whether the bot is one that it cannot see.
    if (rights.reach !== null && this.#registry.has(bot.id)) {
      throw new DroverError('conflict', `the id ${bot.id} cannot be used`);
    }
    const admitted = admittedBot(this.#registry, bot, rights);
    this.#pressure.admitBot(reach === null ? undefined : () => this.#countReached(rights));
    if (bot.desired === 'running') this.#registry.admitHost(admitted, reach);
    await this.#registry.create(admitted);
  }

  async update({ id, change, rights }: Input<'updateBot'>): Promise<BotChange | null> {
    this.expectReached(id, rights);
    // A bot that left the token's reach would disappear for the caller without a reason.
    if (change.labels) {
      if (!reaches(rights.reach, id, change.labels)) throw beyond(rights.reach);
      this.#checkLabels(rights, this.#registry.labelsOf(id) ?? {}, change.labels);
    }
    return this.#registry.update(id, admittedChange(this.#registry, id, change, rights), rights);
  }

  async act({ id, action, rights }: Input<'actOnBot'>): Promise<void> {
    this.expectReached(id, rights);
    this.#admit(id, action, rights);
    await this.#registry.act(id, action);
  }

  async actOnMany({ actions, rights }: Input<'actOnBots'>): Promise<Output<'actOnBots'>> {
    if (actions.action === 'start') this.#pressure.admitStart();
    const admit = (id: string): void => this.#admit(id, actions.action, rights);
    if (rights.reach === null) return { results: await this.#registry.actOnMany(actions, admit) };
    const asked = [...new Set(actions.ids ?? this.#registry.ids())];
    const ids = asked.filter((id) => this.#reached(id, rights));
    const results: Record<string, ActionOutcome> = await this.#registry.actOnMany(
      { ...actions, ids },
      admit,
    );
    // As the registry does for unknown bots: an id gets an error, a label selects nothing.
    if (actions.labels === undefined) {
      const reached = new Set(ids);
      for (const id of asked) if (!reached.has(id)) results[id] = { error: noBot(id).message };
    }
    return { results };
  }

  config({ id, rights }: Input<'botConfig'>): Output<'botConfig'> {
    this.expectReached(id, rights);
    return this.#registry.config(id);
  }

  incidents({ bot, cause, limit, rights, of }: Input<'incidents'>): Output<'incidents'> {
    const asked = bot === null ? null : [bot];
    const list = (
      bots: readonly string[] | null,
      show: ShowIncident | undefined,
      ofCause?: string,
    ): Incident[] =>
      of
        ? listOf(of, bots, limit, show, ofCause)
        : this.#registry.incidents(bots, limit, show, ofCause);
    if (rights.reach === null) return { incidents: list(asked, undefined, cause) };
    // Also bots that are on other nodes by now.
    const reached = (asked ?? this.#registry.knownIds()).filter((id) => {
      const now = this.#registry.identityOf(id);
      return now !== undefined && reaches(rights.reach, id, now.labels);
    });
    const show: ShowIncident = (incident, identities) => {
      const shown = this.#shown(incident, identities, rights);
      // Of an incident whose suspect it may not see it has another cause.
      return cause === undefined || shown?.cause === cause ? shown : undefined;
    };
    return { incidents: list(reached, show) };
  }

  /** For a limited caller, only the reports count that it may see: groups do not know the labels that bots had then. */
  incidentGroups({ rights, of, ...query }: Input<'incidentGroups'>): Output<'incidentGroups'> {
    if (rights.reach === null && !of) return this.#registry.incidentGroups(query);
    const groups = new IncidentGroups();
    const all = { bot: null, limit: LIMIT.maximum, rights };
    const { incidents } = this.incidents({ ...all, ...(of && { of }) });
    for (const incident of incidents.reverse()) {
      for (const counted of countedOf(incident)) groups.add(counted);
    }
    return groups.list(query);
  }

  /** How many bots of each host the caller reaches, by the host's number. Null when it reaches all. */
  onHosts(rights: Rights): ReadonlyMap<number, number> | null {
    if (rights.reach === null) return null;
    const counts = new Map<number, number>();
    for (const id of this.#registry.ids()) {
      const host = this.#registry.hostOf(id)?.number;
      if (host === undefined || !this.#reached(id, rights)) continue;
      counts.set(host, (counts.get(host) ?? 0) + 1);
    }
    return counts;
  }

  releaseKind({ kind, rights }: Input<'releaseKind'>): Output<'releaseKind'> {
    this.expectUnlimited(rights);
    return { started: this.#registry.releaseKind(kind), missing: [] };
  }

  /** How many bots that the caller reaches run each version of the kind, by version. */
  runningVersions(kind: string, rights: Rights): Map<string, number> {
    const counts = new Map<string, number>();
    for (const id of this.#registry.idsOfKind(kind)) {
      const version = this.#registry.versionOf(id);
      if (version === null || !this.#reached(id, rights)) continue;
      counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    return counts;
  }

  /** @throws DroverError `forbidden` for a caller that is limited to some bots. */
  expectUnlimited({ reach }: Rights): void {
    if (reach !== null) throw beyond(reach);
  }

  /** @returns an error for each bot that the caller does not reach, or that does not run. */
  commandTargets({ bots, command, rights }: Input<'commandTargets'>): Output<'commandTargets'> {
    const { reach } = rights;
    return bots.map((id) => {
      if (reach !== null && !this.#reached(id, rights)) return { error: noBot(id).toPlain() };
      try {
        const { host, permit } = this.#registry.commandTarget(id);
        return { host, permit: reach !== null && 'labels' in reach ? permit : ANY_PERMIT };
      } catch (thrown) {
        const error = answerable(`the command ${command}`, thrown);
        this.#commands.failed({ bot: id, command, reason: error.message });
        return { error: error.toPlain() };
      }
    });
  }

  /** Runs a command of the service, or, for another node, commands of bots of this one. */
  async invoke({ call, rights }: Input<'invoke'>, gone?: AbortSignal): Promise<Output<'invoke'>> {
    const { session_id: target, command, args } = call;
    if (target === null) {
      if (rights.reach !== null) throw beyond(rights.reach);
      if (ADMIN_COMMANDS.has(command) && !allows(rights, 'admin')) {
        throw new DroverError('forbidden', `the command ${command} needs the scope admin`);
      }
      return { result: await this.#commands.run(command, args) };
    }
    const output = await this.#dispatcher.invoke({
      call: { ...call, session_id: target },
      rights,
      client: { onGone: (left) => listen(gone, left) },
      // The node that asks has decided which nodes have the bots.
      elsewhere: () => Promise.reject(new DroverError('unavailable')),
    });
    return JSON.parse(output) as Output<'invoke'>;
  }

  /**
   * A limited caller must not change which other tokens reach the bot: it would put its bot into the sight and the control of
   * others, or take it from them. Labels that no token's limit names are free.
   */
  #checkLabels({ reach }: Rights, before: Labels, after: Labels): void {
    if (reach === null) return;
    for (const { reach: other } of this.#tokens()) {
      if (other === null || 'bots' in other) continue;
      for (const name of Object.keys(other.labels)) {
        if (ownLabel(before, name) === ownLabel(after, name)) continue;
        throw new DroverError(
          'forbidden',
          `the label ${name} decides which tokens reach a bot; a limited token cannot set or change it`,
        );
      }
    }
  }

  /**
   * Checks the service's limits, and the caller's. A restart of a bot that does not run is a start.
   * @throws DroverError `unavailable`, `forbidden`.
   */
  #admit(id: string, action: BotAction, { reach }: Rights): void {
    const starts = action === 'restart' && this.#registry.isRunning(id) === false;
    if (action !== 'start' && !starts) return;
    this.#pressure.admitStart();
    this.#registry.admitHost(id, reach);
  }

  /** @throws DroverError `not_found`, also for a bot outside of the caller's limit. */
  expectReached(id: string, rights: Rights): void {
    if (rights.reach !== null && !this.#reached(id, rights)) throw noBot(id);
  }

  #countReached(rights: Rights): number {
    return this.#registry.ids().filter((id) => this.#reached(id, rights)).length;
  }

  #reached(id: string, { reach }: Rights): boolean {
    if (reach === null) return true;
    const labels = this.#registry.labelsOf(id);
    return labels !== undefined && reaches(reach, id, labels);
  }

  #knows(then: IncidentBot, { reach }: Rights): boolean {
    const now = this.#registry.identityOf(then.id);
    if (now?.incarnation !== then.incarnation) return false;
    return reaches(reach, then.id, then.labels) && reaches(reach, then.id, now.labels);
  }

  /**
   * What a limited caller may see of an incident: only parts about bots that it reaches, by their labels then and now. A
   * bot that was deleted, or created again with the same id, is not shown.
   */
  #shown(
    incident: Incident,
    identities: readonly IncidentBot[],
    rights: Rights,
  ): Incident | undefined {
    const known = new Set(
      identities.filter((then) => this.#knows(then, rights)).map(({ id }) => id),
    );
    const bots = incident.bots.filter((id) => known.has(id));
    const suspect = incident.suspect !== null && known.has(incident.suspect);
    if (bots.length === 0 && !suspect) return undefined;
    // A host remembers commands of all bots that it ran, also of those that have left it.
    const last_commands = incident.last_commands.filter((entry) => known.has(botOfCommand(entry)));
    const isOwnLine = incident.last_lines.map((line) => known.has(botOfLine(line)));
    const shown = {
      ...incident,
      bots,
      bot_count: bots.length,
      last_lines: incident.last_lines.filter((_, at) => isOwnLine[at]),
      last_lines_at_ms: incident.last_lines_at_ms.filter((_, at) => isOwnLine[at]),
      last_commands,
    };
    // It may be of any bot of the process.
    if (bots.length < incident.bot_count) delete shown.stderr;
    if (suspect) return shown;
    // The reason may contain text from another bot's code.
    const where = incident.host === null ? '' : ` of bot host ${incident.host}`;
    const reason = `${incident.type}${where}`;
    const hidden = { ...shown, suspect: null, reason, stack: null };
    return { ...hidden, cause: causeOf(hidden).cause };
  }
}

function listen(gone: AbortSignal | undefined, left: () => void): void {
  if (gone?.aborted) left();
  else gone?.addEventListener('abort', left);
}

/** The bot of a line `<level> <bot> <scope>: <message>`. */
function botOfLine(entry: string): string {
  return entry.split(' ', 2)[1] ?? '';
}

/** A label can be named like a property that all objects inherit. */
function ownLabel(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

function beyond(reach: Reach): DroverError {
  const limit =
    reach && 'bots' in reach
      ? 'some bots'
      : `bots with the labels ${JSON.stringify(reach?.labels ?? {})}`;
  return new DroverError('forbidden', `this token is limited to ${limit}`);
}
