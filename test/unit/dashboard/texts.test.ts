// The texts of the page: all are used, and no text is beside them in the code.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { sizeText } from '../../../dashboard/src/parts/size.js';
import { en } from '../../../dashboard/src/texts/en.js';
import { fixedText, numberText, rich, t } from '../../../dashboard/src/texts/text.js';
import { ROOT } from '../../harness/docs.js';

const SOURCES = path.join(ROOT, 'dashboard/src');
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('texts'))
  .map((file) => ({ file, source: readFileSync(path.join(SOURCES, file), 'utf8') }));

describe('the file of texts', () => {
  it('has no stray braces, and no spaces at the ends', () => {
    const isFine = (text: string): boolean =>
      text !== '' && text === text.trim() && !/[{}]/.test(text.replace(/\{\w+\}/g, ''));
    const faults = Object.entries(en).filter(
      ([, text]) => !(typeof text === 'string' ? [text] : Object.values(text)).every(isFine),
    );
    expect(faults).toEqual([]);
  });

  it('has no key that the page does not use', () => {
    const all = files.map(({ source }) => source).join('\n');
    const quoted = new Set([...all.matchAll(/(?<=(['"]))[\w.-]+(?=\1)/g)].map(([key]) => key));
    // Keys that are composed: t(`field.${name}`).
    const composed = [...all.matchAll(/`(\w+\.)\$\{/g)].map(([, prefix = '']) => prefix);
    const unused = Object.keys(en).filter(
      (key) => !quoted.has(key) && !composed.some((prefix) => key.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
  });
});

describe('a text', () => {
  it('has its values in place, and numbers with their separators', () => {
    expect(t('count.of', { n: 1234.5, all: 'x' })).toBe('1,234.5 of x');
  });

  it('has the plural form of its number', () => {
    expect([0, 1, 2000].map((n) => t('count.bots', { n }))).toEqual([
      '0 bots',
      '1 bot',
      '2,000 bots',
    ]);
  });

  it('can have elements in it', () => {
    const element = { type: 'a' };
    expect(rich('herd.createFirst', { bots: element as never })).toEqual([
      'Create the first one under ',
      element,
      ': it gets a cell here.',
    ]);
  });

  it('shows a value that looks like a placeholder as it is', () => {
    expect(t('create.done', { bot: '{bot} {n}' })).toBe('{bot} {n} created');
  });

  it('needs its key and its values: what is missing is a type error', () => {
    const wrong = (): void => {
      // @ts-expect-error no such key
      t('count.cats');
      // @ts-expect-error without its values
      t('count.of');
      // @ts-expect-error one value is missing
      t('count.of', { n: 1 });
      // @ts-expect-error a value that it does not have
      t('count.of', { n: 1, all: 2, some: 3 });
      // @ts-expect-error the number of a plural is a number
      t('count.bots', { n: '1' });
    };
    expect(wrong).toBeTypeOf('function');
  });
});

it('numbers and sizes are written with separators', () => {
  expect([
    numberText(1234567.25),
    fixedText(1, 1),
    sizeText(1.5 * 1024 ** 3),
    sizeText(512),
  ]).toEqual(['1,234,567.25', '1.0', '1.5 GB', '512 bytes']);
});

/** Names, and what is typed as it is. */
const NAMES = [
  'Drover',
  'JSON',
  'UTC',
  'drover',
  'curl',
  'drover check',
  'drover record',
  'drover tokens create',
  'bot:demo-1 level:error',
];
const READ = ['title', 'aria-label', 'placeholder', 'alt', 'name', 'action', 'label', 'note'];

/** Words in elements, and in attributes that people read. */
function wordsIn(node: unknown, found: string[]): string[] {
  if (Array.isArray(node)) {
    for (const one of node) wordsIn(one, found);
    return found;
  }
  if (typeof node !== 'object' || node === null) return found;
  const { type, value, name } = node as { type?: string; value?: unknown; name?: unknown };
  if (type === 'JSXText' && /\p{L}{2}/u.test(String(value))) found.push(String(value).trim());
  if (type === 'JSXAttribute') {
    const attribute = (name as { name?: unknown }).name;
    const text = (value as { type?: string; value?: unknown } | null)?.value;
    // A name in small letters is one of the code: of a group of inputs, an icon.
    const isRead = attribute === 'name' ? /^[A-Z]|\s/ : /\p{L}{2}/u;
    if (READ.includes(String(attribute)) && typeof text === 'string' && isRead.test(text)) {
      const isCode =
        ['action', 'note', 'label'].includes(String(attribute)) && /^[a-z]+$/.test(text);
      if (!isCode) found.push(text);
    }
  }
  for (const [key, below] of Object.entries(node)) if (key !== 'parent') wordsIn(below, found);
  return found;
}

it.each(files.filter(({ file }) => file.endsWith('.tsx')))(
  '$file has its texts from the file of texts',
  ({ source }) => {
    const words = wordsIn(parseAst(source, { lang: 'tsx' }), []);
    expect(words.filter((text) => !NAMES.includes(text))).toEqual([]);
  },
);
