// Runs in main. Owns what a caller's limit to some bots means for each operation: a bot that a token does not reach is,
// for its holder, not there. Scopes are the fronts' (src/front/route-table.ts); what a bot's labels are now only main knows.

import type { InvokeOutcome } from '../../shared/contract/api.js';
import type {
  ActionOutcome,
  BotAction,
  Incident,
  IncidentBot,
} from '../../shared/contract/bots.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import { allows, type Reach, type Rights, reaches } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import type { Dispatcher } from '../bots/dispatcher.js';
import type { BotRegistry } from '../bots/registry.js';
import type { Pressure } from './pressure-gauge.js';

/** Commands of the service that break something on purpose. */
const ADMIN_COMMANDS: ReadonlySet<string> = new Set(['drill']);

type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];
type Output<K extends keyof ControlMethods> = ReturnType<ControlMethods[K]>;

export class BotAccess {
  readonly #registry: BotRegistry;
  readonly #dispatcher: Dispatcher;
  readonly #pressure: Pressure;

  constructor(registry: BotRegistry, dispatcher: Dispatcher, pressure: Pressure) {
    this.#registry = registry;
    this.#dispatcher = dispatcher;
    this.#pressure = pressure;
  }

  async create({ bot, rights }: Input<'createBot'>): Promise<void> {
    if (!reaches(rights.reach, bot.id, bot.labels)) throw beyond(rights.reach);
    // Of its own bots or of another's: that the id cannot be had is all that this caller is told.
    if (rights.reach !== null && this.#registry.has(bot.id)) {
      throw new DroverError('conflict', `the id ${bot.id} cannot be used`);
    }
    this.#pressure.admitBot();
    const starts = bot.dedicated && bot.desired === 'running';
    this.#registry.admitDedicated(bot.id, starts);
    await this.#registry.create(bot);
  }

  async update({ id, change, rights }: Input<'updateBot'>): Promise<void> {
    this.#check(id, rights);
    // Or the token could put a bot out of its own reach, and nobody would know why it is gone.
    if (change.labels && !reaches(rights.reach, id, change.labels)) throw beyond(rights.reach);
    await this.#registry.update(id, change);
  }

  async act({ id, action, rights }: Input<'actOnBot'>): Promise<void> {
    this.#check(id, rights);
    this.#admit(id, action);
    await this.#registry.act(id, action);
  }

  async actOnMany({ actions, rights }: Input<'actOnBots'>): Promise<Output<'actOnBots'>> {
    if (actions.action === 'start') this.#pressure.admitStart();
    const admit = (id: string): void => this.#admit(id, actions.action);
    if (rights.reach === null) return { results: await this.#registry.actOnMany(actions, admit) };
    const asked = [...new Set(actions.ids ?? this.#registry.ids())];
    const ids = asked.filter((id) => this.#reached(id, rights));
    const results: Record<string, ActionOutcome> = await this.#registry.actOnMany(
      { ...actions, ids },
      admit,
    );
    // As the registry does for bots that are not there: named by id they have an error, chosen by labels they have none.
    if (actions.labels === undefined) {
      for (const id of asked) if (!ids.includes(id)) results[id] = { error: missing(id).message };
    }
    return { results };
  }

  config({ id, rights }: Input<'botConfig'>): Output<'botConfig'> {
    this.#check(id, rights);
    return this.#registry.config(id);
  }

  incidents({ bot, limit, rights }: Input<'incidents'>): Output<'incidents'> {
    const asked = bot === null ? null : [bot];
    if (rights.reach === null) return { incidents: this.#registry.incidents(asked, limit) };
    const reached = (asked ?? this.#registry.ids()).filter((id) => this.#reached(id, rights));
    return {
      incidents: this.#registry.incidents(reached, limit, (incident, identities) =>
        this.#shown(incident, identities, rights),
      ),
    };
  }

  async invoke({ call, rights }: Input<'invoke'>, gone?: AbortSignal): Promise<Output<'invoke'>> {
    const { session_id: target, command } = call;
    if (target === null) {
      if (rights.reach !== null) throw beyond(rights.reach);
      if (ADMIN_COMMANDS.has(command) && !allows(rights, 'admin')) {
        throw new DroverError('forbidden', `the command ${command} needs the scope admin`);
      }
      return this.#dispatcher.invoke(call, gone);
    }
    if (!Array.isArray(target)) {
      this.#check(target, rights);
      return this.#dispatcher.invoke(call, gone);
    }
    const reached = target.filter((id) => this.#reached(id, rights));
    const output = await this.#dispatcher.invoke({ ...call, session_id: reached }, gone);
    const results = new Map<string, InvokeOutcome>();
    for (const id of target) results.set(id, { error: missing(id).message });
    if ('results' in output) {
      for (const [id, outcome] of Object.entries(output.results)) results.set(id, outcome);
    }
    return { results: Object.fromEntries(results) };
  }

  /** A restart of a bot that does not run is a start. @throws DroverError `unavailable`. */
  #admit(id: string, action: BotAction): void {
    const starts = action === 'restart' && this.#registry.isRunning(id) === false;
    if (action !== 'start' && !starts) return;
    this.#pressure.admitStart();
    this.#registry.admitDedicated(id, this.#registry.isDedicated(id) === true);
  }

  /** @throws DroverError `not_found`, also when there is the bot but not for this caller. */
  #check(id: string, rights: Rights): void {
    if (rights.reach !== null && !this.#reached(id, rights)) throw missing(id);
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
   * What a caller with a limit may know of an incident: nothing that is of bots that it does not reach, as they were then
   * and as they are now. Of a bot that was deleted, or made anew under its id, it is told nothing.
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
    // A host keeps the commands of all that it ran, also of those that were not there any more.
    const own = (entries: string[], botOf: (entry: string) => string): string[] =>
      entries.filter((entry) => known.has(botOf(entry)));
    const last_commands = own(incident.last_commands, botOfCommand);
    const last_lines = own(incident.last_lines, botOfLine);
    const shown = { ...incident, bots, bot_count: bots.length, last_lines, last_commands };
    if (suspect) return shown;
    // What is said of the host, or of another bot, may have been said by another's code.
    const reason = `${incident.type} of bot host ${incident.host}`;
    return { ...shown, suspect: null, reason, stack: null };
  }
}

/** Of `<command> on <bot>`; no id has a space. */
function botOfCommand(entry: string): string {
  return entry.slice(entry.lastIndexOf(' ') + 1);
}

/** Of `<level> <bot> <scope>: <message>`. */
function botOfLine(entry: string): string {
  return entry.split(' ', 2)[1] ?? '';
}

function missing(id: string): DroverError {
  return new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
}

function beyond(reach: Reach): DroverError {
  const limit =
    reach && 'bots' in reach
      ? 'some bots'
      : `bots with the labels ${JSON.stringify(reach?.labels ?? {})}`;
  return new DroverError('forbidden', `this token is limited to ${limit}`);
}
