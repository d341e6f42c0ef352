// Runs in main. What other nodes ask of this one for their fronts, done as for its own.

import type { CreateBotBody } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type { JsonObject } from '../../shared/contract/json.js';
import { Handover } from '../../shared/contract/rpc.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { Controller } from '../cluster.js';
import { groupsOfNode, hostsOfNode, ofNode } from './merged-answers.js';
import type { Secrets } from './secrets.js';

export type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];
export type Output<K extends keyof ControlMethods> = ReturnType<ControlMethods[K]>;
/** The configuration of a bot with secrets is in `sealed`: it is not in the clear on NATS. */
type CreateInput = Input<'createBot'> & { sealed: string | null };
type UpdateInput = Input<'updateBot'> & { sealed: string | null };

export interface ServedParts {
  secrets: Pick<Secrets, 'encrypt' | 'decrypt' | 'hasSecrets'>;
  /** A bot of this node as its stream shows it (ServiceEvents.snapshot); null when there is none. */
  snapshotOf(id: string): Promise<BotSnapshot | null>;
}

/** Of the caller of a node of an earlier version, which does not say it. */
const NO_LIMIT: Input<'kinds'> = { rights: { reach: null, scopes: [] } };

/** What this node does for others. @param self its name. */
export function servedMethods(
  local: Controller,
  self: string,
  { secrets, snapshotOf }: ServedParts,
) {
  const open = (id: string, text: string | null): Record<string, unknown> | null =>
    text &&
    JSON.parse(secrets.decrypt(bindingOf(id), text, `node ${self}: the secrets of bot ${id}`));
  return {
    async createBot({ bot, sealed, ...rest }: CreateInput) {
      const config = open(bot.id, sealed) ?? bot.config;
      await local.createBot({ bot: { ...bot, config }, ...rest });
      return snapshotOf(bot.id);
    },
    async updateBot({ id, change, rights, sealed }: UpdateInput) {
      const config = open(id, sealed);
      const opened = config ? { ...change, config } : change;
      const updated = await local.updateBot({ id, change: opened, rights });
      return { ...updated, elsewhere: await snapshotOf(id) };
    },
    async actOnBot(input: Input<'actOnBot'>) {
      await local.actOnBot(input);
      return snapshotOf(input.id);
    },
    async endBot(input: Input<'endBot'>) {
      await local.endBot(input);
      return snapshotOf(input.id);
    },
    actOnBots: (input: Input<'actOnBots'>) => local.actOnBots(input),
    endBots: (input: Input<'endBots'>) => local.endBots(input),
    botConfig: (input: Input<'botConfig'>) => local.botConfig(input),
    invoke: (input: Input<'invoke'>, gone: AbortSignal) => local.invoke(input, gone),
    incidents: async (input: Input<'incidents'>) =>
      ofNode(self, await plain(local.incidents(input))),
    incidentGroups: async (input: Input<'incidentGroups'>) =>
      groupsOfNode(self, await plain(local.incidentGroups(input))),
    operations: (input: Input<'operations'>) => local.operations(input),
    operation: (input: Input<'operation'>, gone: AbortSignal) => local.operation(input, gone),
    operationBots: (input: Input<'operationBots'>) => local.operationBots(input),
    changeOperation: (input: Input<'changeOperation'>) => local.changeOperation(input),
    hosts: async (input: Input<'hosts'>) => hostsOfNode(self, await plain(local.hosts(input))),
    kinds: (input: Input<'kinds'> | null) => local.kinds(input ?? NO_LIMIT),
    releaseKind: (input: Input<'releaseKind'>) => local.releaseKind(input),
    reloadKinds: (input: Input<'reloadKinds'>) => local.reloadKinds(input),
  };
}

/**
 * What has no secrets goes in the clear: nodes without a key can read it.
 * @returns null when it must stay here: it has secrets, and this node has no key to encrypt them with.
 */
export function sealedBot(
  { secrets }: ServedParts,
  bot: CreateBotBody,
): Pick<CreateInput, 'bot' | 'sealed'> | null {
  if (!secrets.hasSecrets(bot.kind, bot.config as JsonObject)) return { bot, sealed: null };
  const text = secrets.encrypt(bindingOf(bot.id), JSON.stringify(bot.config));
  return text === null ? null : { bot: { ...bot, config: {} }, sealed: text };
}

/** As {@link sealedBot}. @param kind of the bot, when it is known. */
export function sealedChange(
  { secrets }: ServedParts,
  input: Input<'updateBot'>,
  kind: string | undefined,
): UpdateInput | null {
  const { id, change } = input;
  if (change.config === undefined) return { ...input, sealed: null };
  const isOpen = kind !== undefined && !secrets.hasSecrets(kind, change.config as JsonObject);
  if (isOpen) return { ...input, sealed: null };
  const text = secrets.encrypt(bindingOf(id), JSON.stringify(change.config));
  return text === null ? null : { ...input, change: { ...change, config: {} }, sealed: text };
}

/** @param node to which the secrets were to go. */
export function secretsStay(id: string, self: string, node: string): DroverError {
  const why = `node ${self} has no key to encrypt the secrets of bot ${id} for node ${node}`;
  return new DroverError('conflict', `${why}: ask node ${node}, or set cluster.secret_key_file`);
}

function bindingOf(id: string): string {
  return `call ${id}`;
}

/** None of these methods hands over more than its output. */
export async function plain<T>(answer: T | Handover<T> | Promise<T | Handover<T>>): Promise<T> {
  const output = await answer;
  return output instanceof Handover ? output.output : output;
}
