import { fieldFor, type Schema } from '../parts/schema.js';

/**
 * Maps the service's one-line error to the form field that it names.
 * @param forms the schemas of the fields, by the first word of the errors: `config`, `args`, `restart`.
 * @returns the fault by field path; '' is the form as a whole.
 */
export function faultFrom(
  thrown: unknown,
  forms: Readonly<Record<string, Schema>>,
): Map<string, string> {
  const given = thrown instanceof Error ? thrown.message : String(thrown);
  // The configuration is checked by its kind, other fields as part of the body.
  const message = given.replace(/^body\./, '');
  // `config.nick is missing`, `args.x must be <= 99`, `id must be 1 to 64 letters`.
  const [, path = '', text = ''] = /^([a-z_]+(?:\.[\w-]+|\[\d+\])*) (.+)$/s.exec(message) ?? [];
  if (path === 'id' || path === 'host_group') return new Map([[path, text]]);
  if (/^(?:bot \S+ exists already|the id \S+ cannot be used)$/.test(message)) {
    return new Map([['id', message]]);
  }
  // The deepest existing field.
  const [root = '', ...names] = path.split(/\.|(?=\[)/);
  let schema = forms[root];
  let depth = 0;
  for (; schema; depth++) {
    const below = fieldBelow(schema, names[depth]);
    if (!below) break;
    schema = below;
  }
  if (depth === 0) return new Map([['', message]]);
  const at = [root, ...names.slice(0, depth)].reduce(joined);
  const said = [...names.slice(depth), text].join(' ');
  return new Map([[at, said]]);
}

function joined(path: string, name: string): string {
  return name.startsWith('[') ? path + name : `${path}.${name}`;
}

function fieldBelow(schema: Schema, name: string | undefined): Schema | undefined {
  if (name === undefined) return undefined;
  const field = fieldFor(schema);
  if (field.type === 'list') return name.startsWith('[') ? field.of : undefined;
  if (field.type === 'record') return field.of;
  return schema.properties?.[name];
}
