// `npm run generate` writes config/schema.json and docs/CONFIGURATION.md from src/shared/contract/config.ts and
// config/default.json, and src/shared/validators.gen.ts from src/shared/schemas.ts. test/unit/project fails when one of them is
// out of date.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configKeys, envNames } from '../src/main/load-config.js';
import { CreateBotBody } from '../src/shared/contract/bots.js';
import { Config } from '../src/shared/contract/config.js';
import type { Json, JsonObject } from '../src/shared/contract/json.js';
import { validatorsModule } from './validators-module.js';

/** The flags that set a key (src/cli/main.ts). The test holds this against the command line's own list. */
export const FLAGS: Readonly<Record<string, string>> = {
  'http.host': '--host <address>',
  'http.port': '--port <number>',
  engine: '--engine <name>',
  'http.fronts': '--fronts <number>',
  'hosts.count': '--bot-hosts <number>',
  data_dir: '--data-dir <directory>',
  kinds: '--kinds <place...>',
  'demo.enabled': '--no-demo',
};

/** What of a schema is shown. */
interface Shown {
  type?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: Shown[];
  required?: string[];
  properties?: Record<string, Shown>;
  items?: Shown;
  const?: string;
  enum?: string[];
}

/**
 * The schema of a configuration file, for editors. A file may leave every key out, so nothing is required but what
 * a bot's entry must have; `$schema` may stand in it; defaults are shown.
 */
export function configSchema(defaults: JsonObject): JsonObject {
  const schema = JSON.parse(JSON.stringify(Config)) as JsonObject & Shown;
  optional(schema, defaults);
  const bot = schema.properties?.['bots']?.items;
  if (bot) bot.required = requiredOf(bot);
  const properties = { $schema: { type: 'string' }, ...schema.properties };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Drover configuration',
    description:
      'Made by npm run generate from src/shared/contract/config.ts; changes here are lost.',
    ...schema,
    properties,
  } as unknown as JsonObject;
}

/** Fields without a default: the validator fills the others in. */
function requiredOf({ required = [], properties = {} }: Shown): string[] {
  return required.filter((name) => !('default' in (properties[name] ?? {})));
}

function optional(schema: Shown, defaults: JsonObject): void {
  delete schema.required;
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const value = defaults[name];
    if (inner.properties) optional(inner, value as JsonObject);
    else (inner as { default?: Json }).default = value as Json;
  }
}

/** docs/CONFIGURATION.md. */
export function configPage(defaults: JsonObject): string {
  const names = new Map([...envNames()].map(([name, { path }]) => [path, name]));
  const rows = configKeys().map(({ path, schema }) => [
    code(path),
    code(names.get(path) ?? ''),
    FLAGS[path] === undefined ? '' : code(FLAGS[path]),
    code(JSON.stringify(valueAt(defaults, path))),
    values(schema),
    (schema as Shown).description ?? '',
  ]);
  const required = requiredOf(CreateBotBody as Shown);
  const fields = Object.entries((CreateBotBody as Shown).properties ?? {}).map(([name, field]) => [
    code(name),
    required.includes(name) ? 'yes' : '',
    values(field),
    field.description ?? '',
  ]);
  const keys = table(['Key', 'Environment', 'Flag', 'Default', 'Values', 'Meaning'], rows);
  const bot = table(['Field', 'Required', 'Values', 'Meaning'], fields);
  // Functions, because a `$` in a replacement text would have a meaning.
  return PAGE.replace('{keys}', () => keys).replace('{bot}', () => bot);
}

const PAGE = `<!-- Made by npm run generate from src/shared/contract/config.ts and config/default.json; changes here are lost. -->

# Configuration

Four sources, each over the one before:

1. \`config/default.json\`, which has every key,
2. a file that is named with \`--config <file>\`,
3. environment variables that begin with \`DROVER_\`,
4. flags.

A file is JSON and may leave out what it does not change. Objects are merged key by key, lists are replaced whole. Name the schema in it to have an editor check and complete it:

\`\`\`json
{
  "$schema": "./config/schema.json",
  "http": { "port": 9000 },
  "demo": { "enabled": false },
  "bots": [{ "id": "load-1", "kind": "synthetic", "config": { "events_per_second": 100 } }]
}
\`\`\`

The result is checked after each source. An unknown key, a wrong type or a value out of its bounds ends the start with exit code 1 and one line that names the source and the key:

\`\`\`console
$ DROVER_HTTP_PORT=http npm start
drover: environment (DROVER_HTTP_PORT): http.port must be integer; docs/CONFIGURATION.md lists all keys
\`\`\`

The value of an environment variable is text where the key takes text, and JSON elsewhere (\`true\`, \`12\`, \`null\`, \`[…]\`). A variable that begins with \`DROVER_\` and is not in the table is an error too: it is most often a slip of the pen.

With \`npm start\`, flags go behind \`--\`: \`npm start -- --port 9000 --no-demo\`. \`npm start -- --help\` lists them.

## Keys

{keys}

## An entry of \`bots\`

{bot}

Bots of the configuration are checked before the service listens: an unknown kind, a configuration that its kind's schema refuses, or an id that stands twice ends the start. docs/BOTS.md has the kinds that ship.
`;

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Type and bounds in words. */
function values(schema: Shown): string {
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (schema.anyOf) return schema.anyOf.map(values).join(', or ');
  const type = TYPES[schema.type ?? ''] ?? schema.type ?? '';
  const { minimum, maximum } = schema;
  if (minimum === undefined) return type;
  return maximum === undefined
    ? `${type} from ${number(minimum)}`
    : `${type}, ${number(minimum)} to ${number(maximum)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  integer: 'whole number',
  string: 'text',
  boolean: 'true or false',
  array: 'list',
};

function number(value: number): string {
  return value.toLocaleString('en');
}

function valueAt(values: JsonObject, path: string): Json {
  return path.split('.').reduce<Json>((at, name) => (at as JsonObject)[name] as Json, values);
}

/** The project's directory, from the source and from dist/config alike. */
export function projectDir(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return here.endsWith(join('dist', 'config')) ? join(here, '..', '..') : join(here, '..');
}

export function readDefaults(): JsonObject {
  const text = readFileSync(join(projectDir(), 'config', 'default.json'), 'utf8');
  const { $schema: _, ...defaults } = JSON.parse(text) as JsonObject;
  return defaults;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const defaults = readDefaults();
  const schema = `${JSON.stringify(configSchema(defaults), null, 2)}\n`;
  writeFileSync(join(projectDir(), 'config', 'schema.json'), schema);
  writeFileSync(join(projectDir(), 'docs', 'CONFIGURATION.md'), configPage(defaults));
  writeFileSync(join(projectDir(), 'src', 'shared', 'validators.gen.ts'), validatorsModule());
}
