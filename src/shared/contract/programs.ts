// Programs in any language that are bots over their standard input and output: docs/STDIO.md.

import { BOT_ID } from './bot-id.js';
import type { JsonObject } from './json.js';
import { freeObject, oneOf } from './json-schema.js';
import Type, { type Static } from './typebox.js';

const closed = { additionalProperties: false };

/** Protocols over standard input and output. */
export const PROGRAM_PROTOCOLS = ['raw', 'jsonl', 'mcp'] as const;

/** A program that the operator makes a kind of bots: an entry of `programs` in the configuration, or a manifest. */
export const ProgramDefinition = Type.Object(
  {
    command: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 256,
      description:
        'The program and its arguments; no shell reads them. Relative paths are seen from `cwd`.',
    }),
    protocol: oneOf(PROGRAM_PROTOCOLS, { description: 'What it speaks: docs/STDIO.md.' }),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
    cwd: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Its working directory, relative to that of the service, or of a manifest to the directory of the manifest. Default: that directory.',
      }),
    ),
    env: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
        Type.Union([Type.String(), Type.Object({ config: Type.String({ minLength: 1 }) }, closed)]),
        {
          ...closed,
          description:
            'Environment variables: a value, or `{"config": "<key>"}` for a key of the bot\'s configuration. Of the service\'s own environment it gets only the search path, the home directory, the locale and the like.',
        },
      ),
    ),
    config: Type.Optional(
      freeObject("JSON Schema of a bot's configuration. Without it, bots have none."),
    ),
    ready: Type.Optional(
      Type.String({ description: 'The status in which a bot is ready, for rollouts.' }),
    ),
    commands: Type.Optional(
      Type.Record(
        Type.String({ pattern: BOT_ID.source }),
        Type.Object(
          {
            description: Type.Optional(Type.String()),
            args: Type.Optional(freeObject('JSON Schema of the arguments.')),
          },
          closed,
        ),
        {
          ...closed,
          description:
            'Commands that clients see before the first bot has run. A program that runs says itself which it has. Not for raw.',
        },
      ),
    ),
    start_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 600_000,
        description: 'How long it may take to answer `initialize`, in ms. Default 10,000.',
      }),
    ),
  },
  closed,
);
export type ProgramDefinition = Static<typeof ProgramDefinition>;

/** A definition that was checked, for the hosts. */
export interface Program {
  kind: string;
  definition: ProgramDefinition;
  /** Absolute. */
  cwd: string;
  /** The schema of a bot's configuration. */
  config: JsonObject;
  /** Within this time after the signal to stop nothing of it may be left, in ms. */
  graceMs: number;
}

/** Programs by module, the name that {@link KindInfo} lists in place of a file. */
export type Programs = Readonly<Record<string, Program>>;
