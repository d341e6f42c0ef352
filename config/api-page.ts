// The tables of docs/API.md that come from the table of routes and the schemas. The page marks each with a comment:
// `<!-- routes -->`, `<!-- query GET /events -->`, `<!-- body POST /invoke -->`, `<!-- fields LogEvent -->`, and its end with
// `<!-- end -->`. Everything else on the page is written by hand.

import { NAMED_SCHEMAS } from '../src/front/reference/named-schemas.js';
import type { Parameter } from '../src/shared/contract/routes/parameters.js';
import type { Route } from '../src/shared/contract/routes/route.js';
import { ROUTE_TABLE } from '../src/shared/contract/routes/table.js';
import type { TSchema } from '../src/shared/contract/typebox.js';
import { code, table } from './markdown.js';

const ROUTES: Readonly<Record<string, Route>> = ROUTE_TABLE;

/** The page with its tables made again. @throws Error for a table that is unknown. */
export function apiPage(page: string): string {
  return page.replace(
    /<!-- (routes|query|body|fields)(?: ([^>]+))? -->\n[\s\S]*?<!-- end -->/g,
    (_, kind: string, name = '') =>
      `<!-- ${[kind, name].join(' ').trim()} -->\n\n${contentOf(kind, name, page)}\n\n<!-- end -->`,
  );
}

function contentOf(kind: string, name: string, page: string): string {
  if (kind === 'routes') return routes(page);
  if (kind === 'fields') return fields(found(NAMED_SCHEMAS, name));
  if (kind === 'query') return parameters(name);
  const { body } = found(ROUTES, name);
  if (kind === 'body' && body) return fields(body.schema, true);
  throw new Error(`${name} has no ${kind}`);
}

function found<T>(all: Readonly<Record<string, T>>, name: string): T {
  const one = all[name];
  if (one === undefined) throw new Error(`there is no ${name}`);
  return one;
}

function routes(page: string): string {
  const anchors = anchorsOf(page);
  const rows = Object.entries(ROUTES).map(([name, { access, summary }]) => {
    const anchor = anchors[name];
    return [anchor === undefined ? code(name) : `[${code(name)}](#${anchor})`, access, summary];
  });
  return table(['route', 'needs', ''], rows);
}

/** By route: the anchor of the section whose heading names it. Not every route has one. */
function anchorsOf(page: string): Record<string, string> {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return Object.fromEntries(
    headings.flatMap((heading) =>
      heading.split(', ').map((name) => [
        name,
        heading
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      ]),
    ),
  );
}

/** The filters of past events are those in the table of the stream. */
function parameters(route: string): string {
  const filters = route === 'GET /api/events' ? ROUTES['GET /events']?.query : {};
  const own = Object.entries(found(ROUTES, route).query ?? {}).filter(
    ([name, schema]) => filters?.[name] !== schema,
  );
  const rows = own.map(([name, schema]) => {
    const { enum: values, type } = schema;
    const form = values ? `: ${typeOf(schema)}` : type === 'array' ? ', a list' : '';
    return [`${code(name)}${form}`, meaningOf(schema)];
  });
  return table(['parameter', ''], rows);
}

/** What of a schema is shown. */
interface Shown {
  type?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Shown[];
  items?: Shown;
  properties?: Record<string, Shown>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

function fields(schema: TSchema, isBody = false): string {
  const { properties = {}, required = [] } = schema as Shown;
  const rows = Object.entries(properties).map(([name, field]) => {
    // A default is filled in before a body is validated.
    const isRequired = required.includes(name) && field.default === undefined;
    const type = isBody && isRequired ? `${typeOf(field)}, required` : typeOf(field);
    return [code(name), type, meaningOf(field)];
  });
  return table(['field', 'type', ''], rows);
}

function typeOf(schema: TSchema | Parameter | Shown): string {
  const { const: only, enum: values, anyOf, items, type = 'any JSON' } = schema as Shown;
  if (only !== undefined) return code(String(only));
  if (values) return values.map((value) => code(String(value))).join(', ');
  if (anyOf)
    return anyOf.map(typeOf).join(anyOf.every((one) => one.const !== undefined) ? ', ' : ' or ');
  if (type === 'array') return `list of ${items?.type === 'array' ? 'lists' : plural(items)}`;
  return type;
}

function plural(items: Shown = {}): string {
  return items.enum || items.anyOf ? typeOf(items) : `${typeOf(items)}s`;
}

function meaningOf(schema: TSchema | Parameter | Shown): string {
  const { description = '', default: filledIn } = schema as Shown;
  const byDefault =
    filledIn === undefined ? '' : `Default ${code(JSON.stringify(filledIn).replaceAll('"', ''))}.`;
  // The page says at its start what all times are.
  const meaning = description.replace(/ ?Unix epoch milliseconds\.$/, '');
  return [meaning, boundsOf(schema as Shown), byDefault].filter(Boolean).join(' ');
}

/** The last moment that a Date can hold: no bound worth showing. */
const MAX_TIME_MS = 8_640_000_000_000_000;
const BOUNDS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
] as const;

function boundsOf(schema: Shown): string {
  const bounds = BOUNDS.flatMap(([min, max, unit]) => {
    const [least, most] = [schema[min], schema[max]].map((bound) =>
      bound === undefined || bound === 0 || bound >= MAX_TIME_MS
        ? undefined
        : bound.toLocaleString('en'),
    );
    if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}.`];
    if (most !== undefined) return [`At most ${most}${unit}.`];
    return least === undefined ? [] : [`At least ${least}${unit}.`];
  });
  return bounds.join(' ');
}
