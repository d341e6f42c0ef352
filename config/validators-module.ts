// The build writes Ajv's code for the schemas of src/shared/schemas.ts, and what threads need of the table of routes, into
// dist/src/generated, which package.json names #generated.

import { mkdirSync, writeFileSync } from 'node:fs';
import { Ajv, type AnySchemaObject } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import type { Route } from '../src/shared/contract/routes/route.js';
import { ROUTE_TABLE } from '../src/shared/contract/routes/table.js';
import type { RouteRules } from '../src/shared/routes.js';
import { AJV_OPTIONS, SCHEMAS, type SchemaName } from '../src/shared/schemas.js';

const NAMES = Object.keys(SCHEMAS) as SchemaName[];
const HOST_NAMES = NAMES.filter((name) => name.startsWith('Host'));
const BUS_NAMES = NAMES.filter((name) => name.startsWith('Bus'));

/**
 * The modules, and the schemas of each: that of the configuration is most of all, and for main alone;
 * those of bot hosts are for the relay, those of NATS for nodes of a cluster, that of a fleet file for who reads one.
 */
const VALIDATOR_MODULES: Readonly<Record<string, readonly SchemaName[]>> = {
  'validators.js': NAMES.filter(
    (name) =>
      !['Config', 'FleetFile'].includes(name) &&
      !HOST_NAMES.includes(name) &&
      !BUS_NAMES.includes(name),
  ),
  'config-validator.js': ['Config'],
  'fleet-validator.js': ['FleetFile'],
  'host-validators.js': HOST_NAMES,
  'bus-validators.js': BUS_NAMES,
};

const HEADER = "import { require } from '../shared/package-paths.js';\n";

/** The text of a module with Ajv's code for these schemas. */
function validatorsModule(names: readonly SchemaName[]): string {
  // By the schema: it is one object in all that contain it.
  const own = new Map<unknown, SchemaName>(names.map((name) => [SCHEMAS[name], name]));
  const ajv = new Ajv({
    ...AJV_OPTIONS,
    // All faults of a file are reported at once. Elsewhere the first one ends the check of what a client sends.
    allErrors: names.includes('FleetFile'),
    schemas: Object.fromEntries(names.map((name) => [name, bare(SCHEMAS[name], own, true)])),
    // What a schema refers to has its own function.
    inlineRefs: false,
    code: { source: true, esm: true },
  });
  const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, name])));
  return `${HEADER}${code}\n`;
}

/** Keywords whose fields are names and not keywords. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs']);
/** Keywords whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'required']);

/** A schema without its descriptions, which no check needs. @param own schemas of the module: others refer to them. */
function bare(
  schema: unknown,
  own: ReadonlyMap<unknown, SchemaName>,
  isRoot = false,
  isMap = false,
): AnySchemaObject {
  const name = own.get(schema);
  if (name !== undefined && !isRoot) return { $ref: name };
  if (Array.isArray(schema)) return schema.map((item) => bare(item, own));
  if (typeof schema !== 'object' || schema === null) return schema as never;
  const kept = Object.entries(schema).filter(
    ([key]) => isMap || (key !== 'description' && key !== 'examples'),
  );
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      !isMap && VALUES.has(key) ? value : bare(value, own, false, !isMap && MAPS.has(key)),
    ]),
  );
}

/** The text of the module of src/shared/routes.ts. @throws Error for a body without a validator. */
function routesModule(): string {
  const rules = Object.entries(ROUTE_TABLE).map(([name, route]) => [name, rulesOf(name, route)]);
  return `export const ROUTES = ${JSON.stringify(Object.fromEntries(rules))};\n`;
}

function rulesOf(
  name: string,
  { access, activity, takesAnyQuery, query = {}, body }: Route,
): RouteRules {
  const rules = {
    access,
    activity: activity ?? null,
    takesAnyQuery: takesAnyQuery ?? false,
    query,
  };
  if (body === undefined) return { ...rules, body: null, maxBytes: 0, lines: null };
  const schema = NAMES.find((one) => SCHEMAS[one] === body.schema);
  if (schema === undefined) throw new Error(`${name}: its body is none of src/shared/schemas.ts`);
  const { maxBytes = 0, lines = null } = body;
  return { ...rules, body: schema as RouteRules['body'], maxBytes, lines };
}

const folder = new URL('../src/generated/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, schemas] of Object.entries(VALIDATOR_MODULES)) {
  writeFileSync(new URL(name, folder), validatorsModule(schemas));
}
writeFileSync(new URL('routes.js', folder), routesModule());
