import type { Fault, Schema } from '../parts/schema.js';

/**
 * Maps the service's one-line error to the form field that it names.
 * @param forms the schemas of the fields, by the first word of the errors: `config`, `args`, `restart`.
 * @returns the fault by field path; '' is the form as a whole.
 */
export function faultFrom(
  thrown: unknown,
  forms: Readonly<Record<string, Schema>>,
): Map<string, Fault> {
  const given = thrown instanceof Error ? thrown.message : String(thrown);
  // The configuration is checked by its kind, other fields as part of the body.
  const message = given.replace(/^body\./, '');
  // `config.nick is missing`, `args.x must be <= 99`, `id must be 1 to 64 letters`.
  const [, path = '', text = ''] = /^([a-z_]+(?:\.[\w-]+)*) (.+)$/s.exec(message) ?? [];
  if (path === 'id' || path === 'host_group') return new Map([[path, () => text]]);
  if (/^(?:bot \S+ exists already|the id \S+ cannot be used)$/.test(message)) {
    return new Map([['id', () => message]]);
  }
  // The deepest existing field: list items have no fields.
  const [root = '', ...names] = path.split('.');
  let schema = forms[root];
  let depth = 0;
  for (; schema?.properties?.[names[depth] ?? '']; depth++)
    schema = schema.properties[names[depth] ?? ''];
  if (depth === 0) return new Map([['', () => message]]);
  const at = [root, ...names.slice(0, depth)].join('.');
  const said = [...names.slice(depth), text].join(' ');
  return new Map([[at, () => said]]);
}
