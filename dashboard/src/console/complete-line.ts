// What can stand at the cursor of a command line: commands, their arguments, values.

import { fieldFor, type Schema } from '../parts/schema.js';
import { t } from '../texts/text.js';
import { type Commands, wordsOf } from './parse-line.js';

export interface LineOffer {
  /** Replaces the word, or its value. */
  insert: string;
  label: string;
  hint: string;
}

export interface LineOffers {
  /** The part of the line that an offer replaces. */
  from: number;
  to: number;
  items: readonly LineOffer[];
}

const MAX_OFFERS = 12;
const NONE: LineOffers = { from: 0, to: 0, items: [] };

export function completeLine(line: string, cursor: number, commands: Commands): LineOffers {
  const words = wordsOf(line.slice(0, cursor));
  const last = words.at(-1);
  const current =
    last && last.to === cursor ? last : { text: '', raw: '', from: cursor, to: cursor };
  const isFirst = words.length === 0 || (words.length === 1 && current === last);
  if (isFirst) {
    const items = Object.entries(commands).map(([name, { description }]) => ({
      insert: `${name} `,
      label: name,
      hint: description,
    }));
    return offered(current.from, cursor, current.text, items);
  }
  const schema = commands[words[0]?.text ?? '']?.args;
  const fields = schema?.properties;
  if (!fields || current.raw.startsWith('{')) return NONE;
  const at = current.raw.indexOf('=');
  if (at < 0) {
    const given = new Set(words.map(({ raw }) => raw.split('=')[0]));
    const items = Object.entries(fields)
      .filter(([name]) => !given.has(name) || name === current.text)
      .map(([name, field]) => ({
        insert: `${name}=`,
        label: `${name}=`,
        hint: hintOf(field, schema.required?.includes(name) ?? false),
      }));
    return offered(current.from, cursor, current.text, items);
  }
  const field = fields[current.raw.slice(0, at)];
  const items = field ? valuesOf(field) : [];
  return offered(current.from + at + 1, cursor, current.raw.slice(at + 1), items);
}

/** Those that begin with the text first, then those that hold it. */
function offered(from: number, to: number, text: string, items: readonly LineOffer[]): LineOffers {
  const wanted = text.toLowerCase();
  const places = items
    .map((item) => ({ item, at: item.label.toLowerCase().indexOf(wanted) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => Math.min(a.at, 1) - Math.min(b.at, 1));
  return { from, to, items: places.slice(0, MAX_OFFERS).map(({ item }) => item) };
}

function valuesOf(schema: Schema): LineOffer[] {
  const field = fieldFor(schema);
  const values =
    field.type === 'switch' ? [true, false] : field.type === 'choice' ? field.options : [];
  return values.map((value) => {
    const label =
      typeof value === 'string' && !/[\s'"]/.test(value) ? value : JSON.stringify(value);
    return {
      insert: `${label} `,
      label,
      hint: value === schema.default ? t('schema.isDefault') : '',
    };
  });
}

function hintOf(schema: Schema, isRequired: boolean): string {
  const { description, default: preset, minimum, maximum, type } = schema;
  const parts = [
    isRequired && preset === undefined ? t('schema.required') : '',
    description ?? (typeof type === 'string' ? type : ''),
    minimum !== undefined && maximum !== undefined
      ? t('schema.range', { from: minimum, to: maximum })
      : '',
    preset === undefined ? '' : t('schema.default', { value: JSON.stringify(preset) }),
  ];
  return parts.filter((part) => part !== '').join(', ');
}
