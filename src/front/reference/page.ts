import type { JsonSchema, JsonValue } from '../../shared/contract/routes/route.js';
import {
  COMMON_ERRORS,
  type DocumentOperation,
  type DocumentResponse,
  type OpenApiDocument,
} from './document.js';

/** The page's Content-Security-Policy allows this style by its digest. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5a6675;--line:#d9dfe7;--back:#fff;--soft:#f4f6f9;--mark:#0b57c2;--get:#0a6b3d;--post:#0b57c2;--patch:#8a4b00;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8ef;--dim:#9aa7b8;--line:#2f3947;--back:#12171e;--soft:#1a212b;--mark:#7fb2ff;--get:#63d297;--post:#7fb2ff;--patch:#f0b061;--delete:#ff8f87}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;color:var(--ink);background:var(--back);font:15px/1.55 system-ui,sans-serif;display:grid;grid-template-columns:19rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.25rem 1rem;border-right:1px solid var(--line);background:var(--soft);font-size:13px}
nav h2{margin:1.2rem 0 .3rem;font-size:12px;letter-spacing:.04em;text-transform:uppercase;color:var(--dim)}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:flex;align-items:baseline;gap:.5rem;padding:.15rem .3rem;border-radius:4px;color:inherit;text-decoration:none;overflow-wrap:anywhere}
nav a:hover,nav a:focus-visible{background:var(--line)}
nav .method{flex:none;width:4.6em;font-size:11px;line-height:inherit}
main{padding:1.5rem 2.5rem 5rem;max-width:62rem}
h1{margin:0;font-size:1.7rem}
h2{margin:2.6rem 0 .2rem;font-size:1.3rem}
h3{margin:0;font-size:1.05rem;font-weight:600;overflow-wrap:anywhere}
h4{margin:1.1rem 0 .35rem;font-size:.8rem;letter-spacing:.04em;text-transform:uppercase;color:var(--dim)}
p{margin:.45rem 0}
a{color:var(--mark)}
section.route{margin:1.1rem 0;padding:1rem 1.2rem 1.2rem;border:1px solid var(--line);border-radius:8px}
section.route:target{border-color:var(--mark);box-shadow:0 0 0 1px var(--mark)}
.route header{display:flex;flex-wrap:wrap;gap:.35rem .7rem;align-items:baseline}
.method{font:700 12px ui-monospace,monospace}
.get{color:var(--get)}.post{color:var(--post)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.needs{margin-left:auto;font-size:12px;color:var(--dim)}
code,pre{font:12.5px/1.5 ui-monospace,monospace}
code{background:var(--soft);padding:.08em .3em;border-radius:3px;overflow-wrap:anywhere}
h3 code{background:none;padding:0;font-size:1rem}
pre{margin:.35rem 0;padding:.7rem .9rem;background:var(--soft);border:1px solid var(--line);border-radius:6px;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse;font-size:13.5px}
td{padding:.35rem .7rem .35rem 0;border-top:1px solid var(--line);vertical-align:top}
td:first-child{white-space:nowrap;width:1%}
td:first-child code{white-space:pre}
.type{color:var(--dim);font-size:12.5px}
.must{color:var(--delete);font-size:11px}
details{margin:.4rem 0}
summary{cursor:pointer;color:var(--mark)}
@media(max-width:52rem){body{display:block}nav{position:static;height:auto;max-height:40vh;border-right:0;border-bottom:1px solid var(--line)}main{padding:1rem}td:first-child{white-space:normal}}
@media print{nav{display:none}body{display:block}}
`;

const METHODS = ['get', 'post', 'patch', 'delete'];

/** An HTML page without scripts, built from the document alone. */
export function referencePage(document: OpenApiDocument): string {
  const { info, tags, components } = document;
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const chapters = tags.map(({ name, description }) => {
    const own = routes.filter(({ operation }) => operation.tags.includes(name));
    return { name, description, own };
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${text(info['title'])} API</title><style>${STYLE}</style></head><body>
<nav aria-label="Contents"><strong>${text(info['title'])} API</strong> <span class="type">${text(info['version'])}</span>
${chapters.map(({ name, own }) => `<h2>${text(name)}</h2><ul>${own.map(entry).join('')}</ul>`).join('\n')}
<h2>More</h2><ul><li><a href="#errors">Errors of all routes</a></li>${Object.keys(
    components.schemas,
  )
    .map((name) => `<li><a href="#${name}">${text(name)}</a></li>`)
    .join('')}</ul></nav>
<main><h1>${text(info['title'])} API</h1>
${prose(String(info['description']))}
<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI ${text(document.openapi)}).</p>
${chapters
  .map(
    ({ name, description, own }) =>
      `<h2>${text(name)}</h2><p>${inline(description)}</p>${own.map((route) => section(route)).join('\n')}`,
  )
  .join('\n')}
<h2 id="errors">Errors of all routes</h2>
<p>An error has a status and an <a href="#Error">Error</a> body. Any route can return these; 401 and 403 only where a token is needed, 413 and 415 only where there is a body:</p>
<table>${Object.entries(COMMON_ERRORS)
    .map(([status, description]) => row(`<code>${status}</code>`, inline(description)))
    .join('')}</table>
<h2>Schemas</h2>
${Object.entries(components.schemas).map(named).join('\n')}
</main></body></html>
`;
}

interface Route {
  method: string;
  path: string;
  operation: DocumentOperation;
}

function entry({ method, path, operation }: Route): string {
  const title = `title="${text(operation.summary)}"`;
  return `<li><a href="#${operation.operationId}" ${title}>${badge(method, 'b')}<span>${text(path)}</span></a></li>`;
}

function badge(method: string, tag: 'b' | 'span'): string {
  const kind = METHODS.includes(method) ? method : 'post';
  return `<${tag} class="method ${kind}">${method.toUpperCase()}</${tag}>`;
}

function section({ method, path, operation }: Route): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const needs = operation['x-needs'];
  const all = Object.entries(responses);
  const successes = all.filter(([status]) => Number(status) < 400);
  const errors = all.filter(
    ([status, { description: when }]) =>
      Number(status) >= 400 && COMMON_ERRORS[Number(status)] !== when,
  );
  const body = requestBody?.content['application/json'];
  return [
    `<section class="route" id="${operationId}"><header>${badge(method, 'span')}<h3><code>${text(path)}</code></h3>`,
    `<span class="needs">${needs === 'nothing' ? 'needs no token' : needs === 'any token' ? 'any token' : `scope <code>${needs}</code>`}</span></header>`,
    `<p><strong>${text(summary)}.</strong></p>`,
    description === undefined ? '' : prose(description),
    parameters.length === 0
      ? ''
      : `<h4>Parameters</h4><table>${parameters.map((given) => row(`<code>${text(given.name)}</code>`, `<span class="type">${given.in}, ${typeOf(given.schema)}${defaultOf(given.schema)}</span>${given.required ? ' <span class="must">required</span>' : ''} ${inline(given.description)}`)).join('')}</table>`,
    body ? `<h4>Body</h4>${shape(body.schema)}${example(body.example)}` : '',
    ...successes.map(([status, response]) => successOf(status, response)),
    errors.length === 0
      ? ''
      : `<h4>Errors</h4><table>${errors.map(([status, { description: when }]) => row(`<code>${status}</code>`, inline(when))).join('')}</table>`,
    '</section>',
  ].join('\n');
}

function successOf(status: string, { description, content = {} }: DocumentResponse): string {
  const bodies = Object.entries(content).map(([type, body]) => {
    const { schema, 'x-events': events } = body;
    const kind = type === 'application/json' ? '' : `<p class="type">${text(type)}</p>`;
    const frames = events
      ? `<table>${Object.entries(events)
          .map(([name, data]) =>
            row(`<code>event: ${text(name)}</code>`, `data is ${typeOf(data as JsonSchema)}`),
          )
          .join('')}</table>`
      : '';
    // The media type says enough about text.
    const inside = kind !== '' && schema['type'] === 'string' ? '' : shape(schema);
    return kind + (events ? frames : inside) + example(body.example);
  });
  return `<h4>Response ${status}</h4><p>${inline(description)}</p>${bodies.join('')}`;
}

function named([name, schema]: [string, JsonSchema]): string {
  const about = schema['description'];
  return `<section class="route" id="${name}"><h3>${text(name)}</h3>${typeof about === 'string' ? `<p>${inline(about)}</p>` : ''}${shape(schema)}${Array.isArray(schema['examples']) ? example(schema['examples'][0]) : ''}</section>`;
}

/** The fields of an object, or the type of any other schema. */
function shape(schema: JsonSchema): string {
  const rows = rowsOf(schema, '', 0);
  return rows.length > 0 ? `<table>${rows.join('')}</table>` : `<p>${typeOf(schema)}</p>`;
}

function rowsOf(schema: JsonSchema, indent: string, depth: number): string[] {
  const { properties, required } = schema;
  if (!isObject(properties)) return [];
  const must = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).flatMap(([name, field]) => {
    const given = field as JsonSchema;
    const about = typeof given['description'] === 'string' ? inline(given['description']) : '';
    const note = must.has(name) ? '' : '<span class="type">, optional</span>';
    const inner = depth < 3 ? rowsOf(given, `${indent}  `, depth + 1) : [];
    const named = `<code>${indent}${text(name)}</code>`;
    return [row(named, `<span class="type">${typeOf(given)}</span>${note} ${about}`), ...inner];
  });
}

/** A schema in a few words. */
function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, items, type } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `<a href="#${name}">${text(name)}</a>`;
  }
  if (Array.isArray(anyOf) && !('properties' in schema)) {
    return anyOf.map((one) => typeOf(one as JsonSchema)).join(' or ');
  }
  if (Array.isArray(schema['enum'])) return schema['enum'].map(literal).join(' or ');
  if ('const' in schema) return literal(schema['const'] as JsonValue);
  if (type === 'array') {
    return isObject(items) ? `list of ${typeOf(items as JsonSchema)}` : 'list';
  }
  if (type === 'object') return objectType(schema);
  const bounds = boundsOf(schema);
  return `${typeof type === 'string' ? type : 'any JSON'}${bounds}`;
}

function objectType({ properties, additionalProperties, patternProperties }: JsonSchema): string {
  if (isObject(properties) && Object.keys(properties).length <= 2) {
    const fields = Object.entries(properties).map(
      ([name, field]) => `${text(name)}: ${typeOf(field as JsonSchema)}`,
    );
    return `{${fields.join(', ')}}`;
  }
  const values = isObject(additionalProperties)
    ? additionalProperties
    : isObject(patternProperties)
      ? (Object.values(patternProperties)[0] as JsonSchema)
      : undefined;
  return values ? `object of ${typeOf(values as JsonSchema)}` : 'object';
}

function defaultOf(schema: JsonSchema): string {
  return 'default' in schema ? `, default ${literal(schema['default'] as JsonValue)}` : '';
}

const BOUNDS: readonly [string, string][] = [
  ['minimum', 'from'],
  ['maximum', 'to'],
  ['minLength', 'length from'],
  ['maxLength', 'length to'],
];

function boundsOf(schema: JsonSchema): string {
  const bounds = BOUNDS.filter(([key]) => typeof schema[key] === 'number').map(
    ([key, word]) => `${word} ${Number(schema[key]).toLocaleString('en-US')}`,
  );
  return bounds.length > 0 ? `, ${bounds.join(' ')}` : '';
}

function literal(value: JsonValue): string {
  return `<code>${text(typeof value === 'string' ? value : JSON.stringify(value))}</code>`;
}

function example(value: unknown): string {
  if (value === undefined) return '';
  const shown = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return `<details><summary>Example</summary><pre>${text(shown)}</pre></details>`;
}

function row(name: string, about: string): string {
  return `<tr><td>${name}</td><td>${about}</td></tr>`;
}

function prose(paragraphs: string): string {
  return paragraphs
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('');
}

/** Text between backticks is code. */
function inline(written: string): string {
  return text(written).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function text(value: unknown): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return String(value).replace(/[&<>"]/g, (character) => entities[character] as string);
}

function isObject(value: JsonValue | undefined): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
