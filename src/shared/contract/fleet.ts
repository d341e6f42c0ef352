// JSON Schemas of fleet files, and of requests and answers about fleets.

import {
  BotNode,
  BotQuota,
  CreateBotBody,
  FailoverSchema,
  HostGroup,
  IsolationSchema,
  NodeLabels,
  RestartPolicy,
} from './bots.js';
import { anyJson, freeObject, named, nullable, oneOf } from './json-schema.js';
import Type, { type Static } from './typebox.js';

const closed = { additionalProperties: false };

/** Bots of one fleet. Above it the file is refused before any of them is made. */
export const MAX_FLEET_BOTS = 10_000;

const FLEET_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
export const FleetName = Type.String({
  pattern: FLEET_NAME,
  description:
    'Name of the fleet: which bots belong to it. 1 to 64 letters, digits, dots, dashes or underscores; starts with a letter or digit.',
});

export function isFleetName(name: string): boolean {
  return new RegExp(FLEET_NAME).test(name);
}

/** What kinds, templates and bots of a file may say of a bot. Without defaults: they would override those of a template. */
const settings = {
  config: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The configuration, by the schema of the kind. null removes what a template gives. `{"$env": "NAME"}` and `{"$file": "path"}` are replaced with a variable and the text of a file.',
    }),
  ),
  labels: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
      description: 'Labels; null removes one that a template gives.',
    }),
  ),
  desired: Type.Optional(
    oneOf(['running', 'stopped'], { description: 'The desired state. Default `running`.' }),
  ),
  restart: Type.Optional(
    Type.Partial(RestartPolicy, {
      ...closed,
      description: 'Overrides `restart` of the configuration of the service.',
    }),
  ),
  dedicated: Type.Optional(Type.Boolean({ description: 'Give the bot its own host.' })),
  isolation: Type.Optional(nullable(IsolationSchema, 'null: as configured.')),
  host_group: Type.Optional(nullable(HostGroup, 'null: none.')),
  quota: Type.Optional(BotQuota),
  node: Type.Optional(nullable(BotNode, 'null: any node.')),
  node_labels: Type.Optional(nullable(NodeLabels, 'null: any node.')),
  failover: Type.Optional(FailoverSchema),
};
const kind = Type.Optional(Type.String({ description: 'Kind of the bot.' }));

const Settings = Type.Object(settings, closed);
const Template = Type.Object(
  {
    extends: Type.Optional(Type.String({ description: 'A template that this one is based on.' })),
    kind,
    ...settings,
  },
  closed,
);
const Entry = Type.Object(
  {
    id: Type.String({
      description:
        'Id of the bot. With `count` it contains `{n}`, which is replaced with 1, 2, 3, …; `{n:3}` with 001, 002, 003, …',
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_FLEET_BOTS,
        description:
          'How many bots. `{n}` is replaced in all texts of the entry and of its template.',
      }),
    ),
    template: Type.Optional(Type.String({ description: 'The template that the bot is based on.' })),
    kind,
    ...settings,
  },
  closed,
);

/** A fleet file. */
export const FleetFile = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: FleetName,
    kinds: Type.Optional(
      Type.Record(Type.String(), Settings, { description: 'Defaults of the bots of a kind.' }),
    ),
    templates: Type.Optional(
      Type.Record(Type.String(), Template, { description: 'What several bots have in common.' }),
    ),
    bots: Type.Array(Entry, {
      maxItems: MAX_FLEET_BOTS,
      description: `The bots, at most ${MAX_FLEET_BOTS} with \`count\`.`,
    }),
  },
  closed,
);
export type FleetFile = Static<typeof FleetFile>;
export type FleetSettings = Static<typeof Template>;

/** Body of `POST /api/fleet/{name}`. */
export const FleetBody = Type.Object(
  {
    bots: Type.Array(CreateBotBody, {
      maxItems: MAX_FLEET_BOTS,
      description: 'All bots of the fleet, as for `POST /api/bots`.',
    }),
    prune: Type.Boolean({
      default: false,
      description: 'Delete bots of the fleet that are not in `bots`.',
    }),
    dry_run: Type.Boolean({ default: false, description: 'Change nothing.' }),
  },
  closed,
);
export type FleetBody = Static<typeof FleetBody>;

/** What applying a fleet does to one bot. */
export const FleetStep = Type.Object(
  {
    id: Type.String(),
    kind: Type.String(),
    action: oneOf(['create', 'change', 'replace', 'delete', 'refuse'], {
      description:
        '`replace`: the bot is deleted and created again, because its kind or its dedicated host changes. `refuse`: it cannot be done, and then nothing is.',
    }),
    changes: Type.Optional(
      named(
        Type.Object({
          from: Type.Optional(anyJson('Absent: it was not there.')),
          to: Type.Optional(anyJson('Absent: it is not there any more.')),
        }),
        'Values before and after, by name, such as `config.url`, `labels.team`, `desired`. Without values when they are longer than 8,192 characters.',
      ),
    ),
    secrets: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Secrets that are set, replaced or removed, by path. Their values are nowhere.',
      }),
    ),
    adopted: Type.Optional(
      Type.Literal(true, { description: 'The bot exists and belonged to no fleet.' }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why it is refused.' })),
    error: Type.Optional(
      Type.String({ description: 'Why it was not done. Absent for success, and in a dry run.' }),
    ),
  },
  { description: 'What applying a fleet does to one bot.' },
);
export type FleetStep = Static<typeof FleetStep>;

/** Answer of `POST /api/fleet/{name}`. */
export const FleetPlan = Type.Object(
  {
    fleet: Type.String(),
    steps: Type.Array(FleetStep, { description: 'Bots that do not change are not among them.' }),
    unchanged: Type.Integer({ minimum: 0 }),
    unlisted: Type.Array(Type.String(), {
      description: 'Bots of the fleet that are not in `bots` and stay, because `prune` is not set.',
    }),
    operation: Type.Optional(
      Type.String({
        description: 'Id of the operation that has changed them. Absent when nothing changes.',
      }),
    ),
  },
  { description: 'What applying a fleet changes.' },
);
export type FleetPlan = Static<typeof FleetPlan>;

/** Answer of `GET /api/fleet`. */
export const FleetExport = Type.Object({
  bots: Type.Array(
    freeObject(
      'As in a fleet file. Secrets are replaced with `{"$env": "NAME"}`, because nobody can read them.',
    ),
  ),
  variables: Type.Array(Type.String(), { description: 'The names that stand for secrets.' }),
  fleets: Type.Array(Type.String(), { description: 'The fleets that these bots belong to.' }),
});
export type FleetExport = Static<typeof FleetExport>;
