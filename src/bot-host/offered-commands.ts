// Runs in a bot host thread. Commands that a run has offered, in place of those of its kind.

import type { BotKind } from '../bot-sdk/index.js';
import { BOT_ID, BOT_ID_WORDS } from '../shared/contract/bot-id.js';
import type { KindInfo } from '../shared/contract/bots.js';
import { CommandArgs } from '../shared/contract/command-args.js';
import { MAX_OFFERED_COMMANDS } from '../shared/contract/command-messages.js';
import type { JsonObject } from '../shared/contract/json.js';
import { kindAjv } from '../shared/kind-ajv.js';
import { botJson } from './bot-json.js';

/** The schemas of a run's commands as JSON, in bytes: clients get them with the list of kinds. */
const MAX_BYTES = 524_288;

/** The commands that were offered last, by kind: bots of a kind mostly offer the same, which is compiled once. */
const last = new Map<string, { text: string; args: CommandArgs }>();

export class OfferedCommands {
  readonly commands: BotKind['commands'];
  readonly infos: KindInfo['commands'];
  readonly args: CommandArgs;

  private constructor(
    commands: BotKind['commands'],
    infos: KindInfo['commands'],
    args: CommandArgs,
  ) {
    this.commands = commands;
    this.infos = infos;
    this.args = args;
  }

  /** @throws Error for what cannot be a command, in one line. */
  static of(kind: string, commands: BotKind['commands']): OfferedCommands {
    const infos: KindInfo['commands'] = {};
    const names = Object.keys(commands);
    if (names.length > MAX_OFFERED_COMMANDS) {
      throw new Error(`${names.length} commands are too many, ${MAX_OFFERED_COMMANDS} are allowed`);
    }
    for (const [name, { description, args }] of Object.entries(commands)) {
      if (!BOT_ID.test(name)) {
        throw new Error(`the name of the command ${JSON.stringify(name)} must be ${BOT_ID_WORDS}`);
      }
      infos[name] = { description, args: objectSchema(name, args) };
    }
    const text = botJson(infos, 'the schemas of the commands') ?? '{}';
    if (Buffer.byteLength(text) > MAX_BYTES) {
      throw new Error(`the schemas of the commands take more than ${MAX_BYTES} bytes`);
    }
    const before = last.get(kind);
    if (before?.text === text) return new OfferedCommands(commands, infos, before.args);
    // Each with its own Ajv: one keeps every schema that it has compiled.
    const compiled = new CommandArgs(kind, infos, kindAjv());
    compiled.compile();
    last.set(kind, { text, args: compiled });
    return new OfferedCommands(commands, infos, compiled);
  }
}

/** Without what names the schema: Ajv looks for a dialect that it does not have, and refuses the same name twice. */
function objectSchema(name: string, { $schema: _, $id: __, ...schema }: JsonObject): JsonObject {
  const { type = 'object' } = schema;
  if (type !== 'object') {
    throw new Error(`commands.${name}.args must be the schema of an object, not of type ${type}`);
  }
  return { ...schema, type };
}
