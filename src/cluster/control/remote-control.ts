// Runs in main. What fronts ask of main on a node of a cluster: what is about bots of other nodes is done there, by what they would do
// for their own fronts. So permissions are checked, and secrets stay, where the bot is; the nodes of a cluster trust each other.

import type { InvokeOutcome } from '../../shared/contract/api.js';
import type { ActionOutcome, BotActionsBody, CreateBotBody } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import { hasLabels } from '../../shared/contract/labels.js';
import { SELF } from '../../shared/contract/node-name.js';
import { reaches } from '../../shared/contract/rights.js';
import type { CommandTarget } from '../../shared/contract/threads.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { isNoBot } from '../../shared/no-bot.js';
import type { Controller } from '../cluster.js';
import type { CallMethods } from '../wire/call-server.js';
import type { Calls } from '../wire/calls.js';
import { NodeUnreachable } from '../wire/calls.js';
import type { BotRecords } from './bot-records.js';
import type { ClusterIncidents } from './cluster-incidents.js';
import {
  groupsOfNode,
  mergeHosts,
  mergeIncidentGroups,
  mergeIncidents,
  mergeKinds,
  mergeReloaded,
  sumReleased,
} from './merged-answers.js';
import type { CallsToMembers } from './node-calls.js';
import type { Members, PlacementInput } from './parts.js';
import {
  type Input,
  type Output,
  plain,
  type ServedParts,
  sealedBot,
  sealedChange,
  secretsStay,
  servedMethods,
} from './served-methods.js';
import { sharedAccess } from './shared-access.js';
import type { TokenSync } from './token-sync.js';

/** Longest change of a bot on another node, in ms: to stop one takes as long as its code does, and it may wait for its turn. */
const CHANGE_MS = 60_000;
/** For what a node answers from memory, in ms. */
const QUESTION_MS = 5000;
/** For what is asked again twice a second, in ms: a node that does not answer must not hide the others. */
const GLANCE_MS = 800;
/** How much longer than the node that runs a command this one waits, in ms. */
const LATE_MS = 1000;

export interface RemoteParts extends ServedParts {
  members: Pick<Members, 'self' | 'leader' | 'all' | 'get' | 'onChange'>;
  records: Pick<BotRecords, 'get' | 'ids' | 'fault'>;
  calls: Calls;
  others: Pick<CallsToMembers, 'call' | 'others'>;
  tokens: Pick<TokenSync, 'revoke'>;
  incidents: Pick<ClusterIncidents, 'besides' | 'fault'>;
  /** `invoke.timeout_ms`. */
  invokeMs: number;
}

/** @param local of this node (createController). */
export function clusterController(local: Controller, parts: RemoteParts): Controller {
  const { members, calls, others } = parts;
  const { self } = members;
  const isKnown = (id: string, { reach }: Rights): boolean => {
    const record = parts.records.get(id);
    return record !== undefined && reaches(reach, id, record.spec.labels);
  };
  /** This node for a bot that is not known, or that the caller does not reach: it says that there is none. */
  const nodeOf = (id: string, rights: Rights): string =>
    (isKnown(id, rights) && parts.records.get(id)?.node) || self;
  const here = servedMethods(local, self, parts);
  calls.serve(here as CallMethods);

  /** Has the node of a bot do it. What it is about may have moved meanwhile: then once more. */
  const atBot = async <T>(
    { id, rights }: { id: string; rights: Rights },
    task: (node: string) => Promise<T>,
  ): Promise<T> => {
    const node = nodeOf(id, rights);
    try {
      return await task(node);
    } catch (thrown) {
      if (!isNoBot(thrown, id) || !isKnown(id, rights)) throw thrown;
      const now = nodeOf(id, rights);
      if (now === node) throw onItsWay(id, node);
      return await task(now).catch((again) => {
        throw isNoBot(again, id) && isKnown(id, rights) ? onItsWay(id, now) : again;
      });
    }
  };

  const changeBot = <K extends 'updateBot' | 'actOnBot' | 'endBot'>(
    method: K,
    input: Input<K> & { id: string },
    sent: object | null = input,
  ): Promise<Output<K>> =>
    atBot(input, async (node) => {
      if (node === self) return plain(local[method](input as never) as Output<K>);
      if (!sent) throw secretsStay(input.id, self, node);
      return others.call<Output<K>>(node, method, sent, CHANGE_MS);
    });

  /**
   * Where a new bot is created. Wherever that is: its node makes its record first.
   * @param sent null: it has secrets that must stay here. @param except nodes that do not answer.
   */
  const placeOf = async (
    bot: CreateBotBody,
    sent: { sealed: string | null } | null,
    except: string[],
  ): Promise<string> => {
    const present = parts.records.get(bot.id);
    // The node that has a bot with this id knows how to refuse it.
    if (present) return present.node;
    const { id, kind, node, node_labels, host_group } = bot;
    const isAnywhere = node === undefined && node_labels === undefined && host_group === undefined;
    const { leader } = members;
    if (node === self || (isAnywhere && !sent)) return self;
    if (leader === null || parts.records.fault !== null) {
      if (isAnywhere) return self;
      const why = parts.records.fault ?? 'no node leads the cluster at present';
      throw new DroverError('unavailable', `bot ${id} cannot be given to a node: ${why}`, 1);
    }
    const wish: PlacementInput = {
      id,
      kind,
      ...(node !== undefined && { node }),
      ...(node_labels !== undefined && { node_labels }),
      ...(host_group !== undefined && { host_group }),
      ...(sent?.sealed && { needs_key: true }),
      ...(except.length > 0 && { except }),
    };
    try {
      return (await others.call<{ node: string }>(leader, 'place', wish, QUESTION_MS)).node;
    } catch (thrown) {
      // As if there were no leader.
      if (isAnywhere && thrown instanceof NodeUnreachable) return self;
      throw thrown;
    }
  };

  /** On another node if the one that was chosen does not answer. */
  const createBot = async (
    { bot, rights }: Input<'createBot'>,
    except: string[] = [],
  ): Promise<BotSnapshot | null> => {
    const sent = sealedBot(parts, bot);
    const node = await placeOf(bot, sent, except);
    if (node === self) return plain(local.createBot({ bot, rights }) as Output<'createBot'>);
    if (!sent) throw secretsStay(bot.id, self, node);
    const input = { ...sent, rights };
    try {
      return await others.call<BotSnapshot | null>(node, 'createBot', input, CHANGE_MS);
    } catch (thrown) {
      // If it has made the bot after all, there is a record, and no other node can make it.
      const isElsewhere = bot.node !== node && !except.includes(node) && !parts.records.get(bot.id);
      if (!(thrown instanceof NodeUnreachable) || !isElsewhere) throw thrown;
      return createBot({ bot, rights }, [...except, node]);
    }
  };

  /** One call a node. @returns the outcome of each bot; an error for each of a node that does not answer. */
  const onNodes = async <O>(
    ids: readonly string[],
    rights: Rights,
    task: (node: string, ids: string[]) => Promise<Record<string, O>>,
  ): Promise<Record<string, O | { error: string }>> => {
    const groups = groupBy(ids, (id) => nodeOf(id, rights));
    // As if there were no other nodes.
    if (groups.length === 1) {
      const [[node, own]] = groups as [[string, string[]]];
      if (node === self) return task(node, own);
    }
    const outcomes = await Promise.all(
      groups.map(([node, own]) => task(node, own).catch((thrown) => errorOfEach(own, thrown))),
    );
    return inOrder<O | { error: string }>(ids, outcomes);
  };

  const actOnMany = async (
    method: 'actOnBots' | 'endBots',
    { actions, rights }: Input<'actOnBots'>,
  ): Promise<Output<'actOnBots'>> => {
    const { ids, labels } = actions;
    const selected = [...new Set(ids ?? parts.records.ids())].filter(
      (id) => labels === undefined || hasLabels(parts.records.get(id)?.spec.labels ?? {}, labels),
    );
    const isOwn = (id: string): boolean => nodeOf(id, rights) === self;
    const elsewhere = selected.filter((id) => !isOwn(id));
    const actHere = async (own: BotActionsBody): Promise<Record<string, ActionOutcome>> =>
      (await plain<Output<'actOnBots'>>(local[method]({ actions: own, rights } as never))).results;
    if (elsewhere.length === 0) return { results: await actHere(actions) };
    const own = ownActions(actions, elsewhere);
    const known = own?.ids ?? selected.filter(isOwn);
    const outcomes = await Promise.all([
      own ? actHere(own).catch((thrown) => errorOfEach(known, thrown)) : {},
      onNodes<ActionOutcome>(elsewhere, rights, async (node, some) => {
        const input = { actions: { ...actions, ids: some }, rights };
        return (await others.call<Output<'actOnBots'>>(node, method, input, CHANGE_MS)).results;
      }),
    ]);
    return { results: inOrder(ids ?? [], outcomes) };
  };

  /** Asks this node and all others. @returns their answers, and why others have none. */
  const ofAll = async <
    K extends 'incidents' | 'incidentGroups' | 'kinds' | 'releaseKind' | 'reloadKinds' | 'hosts',
  >(
    method: K,
    input: Input<K>,
    nodes = others.others(),
    deadlineMs = QUESTION_MS,
  ): Promise<PromiseSettledResult<Output<K>>[]> =>
    Promise.allSettled([
      // Asynchronous, so that its error is one of the answers.
      (async () => plain<Output<K>>((await here[method](input as never)) as Output<K>))(),
      ...nodes.map((node) => others.call<Output<K>>(node, method, input, deadlineMs)),
    ]);

  /** What NATS has of the incidents of nodes that have not answered, and the losses of nodes; the nodes of which nobody has anything. */
  const unasked = (nodes: readonly string[], answers: PromiseSettledResult<unknown>[]) => {
    const answered = [self, ...nodes].filter((_, at) => answers[at]?.status === 'fulfilled');
    const isKnown = parts.incidents.fault === null;
    const missing = members
      .all()
      .filter((one) => !answered.includes(one.node) && !(isKnown && one.shares_incidents))
      .map(({ node }) => node)
      .sort();
    return { reports: parts.incidents.besides(new Set(answered)), missing };
  };

  return {
    ...local,
    ...sharedAccess(local, parts),
    createBot: (input) => createBot(input),
    updateBot: (input) => {
      const kind = parts.records.get(input.id)?.spec.kind;
      return changeBot('updateBot', input, sealedChange(parts, input, kind));
    },
    actOnBot: (input) => changeBot('actOnBot', input),
    async endBot({ node, ...input }) {
      if (node === undefined) return changeBot('endBot', input);
      if (node === SELF || node === self) return plain(local.endBot(input) as null);
      if (!members.get(node)) throw new DroverError('not_found', `no node ${JSON.stringify(node)}`);
      return others.call<BotSnapshot | null>(node, 'endBot', input, CHANGE_MS);
    },
    actOnBots: (input) => actOnMany('actOnBots', input),
    endBots: (input) => actOnMany('endBots', input),
    botConfig: (input) =>
      atBot(input, async (node) =>
        node === self
          ? plain(local.botConfig(input))
          : others.call<Output<'botConfig'>>(node, 'botConfig', input, QUESTION_MS),
      ),
    async commandTargets({ bots, command, rights }) {
      const own = bots.filter((id) => nodeOf(id, rights) === self);
      const targets = await plain(local.commandTargets({ bots: own, command, rights }));
      const here = new Map(own.map((id, at) => [id, targets[at] as CommandTarget]));
      return bots.map((id) => {
        const target = here.get(id);
        if (!target) return { isElsewhere: true };
        const isMissing = 'error' in target && isNoBot(DroverError.fromPlain(target.error), id);
        if (!isMissing || !isKnown(id, rights)) return target;
        return { error: onItsWay(id, nodeOf(id, rights)).toPlain() };
      });
    },
    async invoke({ call, rights }, gone) {
      const { session_id: target } = call;
      const invokeAt = async (node: string, asked: Input<'invoke'>): Promise<Output<'invoke'>> =>
        node === self
          ? plain(local.invoke(asked, gone))
          : others.call<Output<'invoke'>>(node, 'invoke', asked, parts.invokeMs + LATE_MS, gone);
      if (target === null) return local.invoke({ call, rights }, gone);
      if (!Array.isArray(target)) {
        return atBot({ id: target, rights }, (node) => invokeAt(node, { call, rights }));
      }
      const results = await onNodes<InvokeOutcome>(
        [...new Set(target)],
        rights,
        async (node, ids) => {
          const output = await invokeAt(node, { call: { ...call, session_id: ids }, rights });
          return 'results' in output ? output.results : {};
        },
      );
      return { results };
    },
    async incidents(input) {
      const nodes = others.others();
      const answers = await ofAll('incidents', input, nodes);
      const { reports, missing } = unasked(nodes, answers);
      const [shared] = await Promise.allSettled([
        plain(local.incidents({ ...input, of: reports })),
      ]);
      return { ...mergeIncidents([...answers, shared], input), missing };
    },
    async incidentGroups(input) {
      const nodes = others.others();
      const answers = await ofAll('incidentGroups', input, nodes);
      const { reports, missing } = unasked(nodes, answers);
      const shared = groupBy(reports, ({ incident }) => incident.node ?? '').map(
        async ([node, of]) =>
          groupsOfNode(node, await plain(local.incidentGroups({ ...input, of }))),
      );
      const all = [...answers, ...(await Promise.allSettled(shared))];
      return mergeIncidentGroups(all, missing, input);
    },
    async hosts(input) {
      const nodes = others.others();
      return mergeHosts(await ofAll('hosts', input, nodes, GLANCE_MS), [self, ...nodes]);
    },
    async kinds(input) {
      return mergeKinds(await ofAll('kinds', input));
    },
    async releaseKind(input) {
      const nodes = others.others();
      return sumReleased(await ofAll('releaseKind', input, nodes), [self, ...nodes]);
    },
    async reloadKinds(input) {
      const nodes = others.others();
      return mergeReloaded(await ofAll('reloadKinds', input, nodes, CHANGE_MS), nodes);
    },
  };
}

/** Its record names the node, which does not have it yet, or not any more. */
function onItsWay(id: string, node: string): DroverError {
  return new DroverError('unavailable', `bot ${id} is on its way to node ${node}, or from it`, 1);
}

/** @param first in the order in which they were asked for; the others follow. */
function inOrder<O>(
  first: readonly string[],
  outcomes: readonly Record<string, O>[],
): Record<string, O> {
  const found = new Map(outcomes.flatMap((some) => Object.entries(some)));
  const asked = first.flatMap((id): [string, O][] => {
    const outcome = found.get(id);
    return outcome === undefined ? [] : [[id, outcome]];
  });
  return Object.fromEntries([...asked, ...found]);
}

function errorOfEach(ids: readonly string[], thrown: unknown): Record<string, { error: string }> {
  const error = messageOf(thrown);
  return Object.fromEntries(ids.map((id) => [id, { error }]));
}

/** Those of this node, without the ids of others. Null when there are none. */
function ownActions(actions: BotActionsBody, elsewhere: readonly string[]): BotActionsBody | null {
  if (actions.ids === undefined) return actions;
  const others = new Set(elsewhere);
  const ids = actions.ids.filter((id) => !others.has(id));
  return ids.length === 0 ? null : { ...actions, ids };
}

function groupBy<T>(all: readonly T[], nodeOf: (one: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const node = nodeOf(one);
    const group = groups.get(node);
    if (group) group.push(one);
    else groups.set(node, [one]);
  }
  return [...groups];
}
