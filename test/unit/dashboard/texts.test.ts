// The texts of the page: the languages have the same, all are used, and no text is beside them in the code.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { afterEach, describe, expect, it } from 'vitest';
import { sizeText } from '../../../dashboard/src/parts/size.js';
import { de } from '../../../dashboard/src/texts/de.js';
import { en } from '../../../dashboard/src/texts/en.js';
import {
  fixedText,
  languageFor,
  numberText,
  type Plural,
  rich,
  t,
  useTexts,
} from '../../../dashboard/src/texts/text.js';
import { ROOT } from '../../harness/docs.js';

const SOURCES = path.join(ROOT, 'dashboard/src');
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('texts'))
  .map((file) => ({ file, source: readFileSync(path.join(SOURCES, file), 'utf8') }));

afterEach(() => useTexts('en', en));

function formsOf(text: string | Plural): [form: string, text: string][] {
  return typeof text === 'string' ? [['', text]] : [...Object.entries(text)];
}

function placeholdersOf(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).sort();
}

describe('the files of the languages', () => {
  it('have the same keys in the same order', () => {
    expect(Object.keys(de)).toEqual(Object.keys(en));
  });

  it('have the same placeholders, and no spaces at the ends', () => {
    const faults = Object.entries(en).flatMap(([key, english]) => {
      const inGerman = Object.fromEntries(formsOf(de[key as keyof typeof en]));
      return formsOf(english).flatMap(([form, text]) => {
        const german = inGerman[form] ?? '';
        // "one bot" need not have the number in it.
        const [these, those] = [text, german].map((one) =>
          placeholdersOf(one).filter((name) => form !== 'one' || name !== 'n'),
        );
        const isFine = (one: string): boolean =>
          one !== '' && one === one.trim() && !/[{}]/.test(one.replace(/\{\w+\}/g, ''));
        const isSame = String(these) === String(those);
        return isSame && isFine(text) && isFine(german) ? [] : `${key} ${form}`;
      });
    });
    expect(faults).toEqual([]);
  });

  it('have no key that the page does not use', () => {
    const all = files.map(({ source }) => source).join('\n');
    // Keys that are composed: t(`field.${name}`).
    const composed = [...all.matchAll(/`(\w+\.)\$\{/g)].map(([, prefix = '']) => prefix);
    const unused = Object.keys(en).filter(
      (key) =>
        !all.includes(`'${key}'`) &&
        !all.includes(`"${key}"`) &&
        !composed.some((prefix) => key.startsWith(prefix)),
    );
    expect(unused).toEqual([]);
  });
});

describe('a text', () => {
  it('has its values in place, and numbers as the language writes them', () => {
    expect(t('count.of', { n: 1234.5, all: 'x' })).toBe('1,234.5 of x');
    useTexts('de', de);
    expect(t('count.of', { n: 1234.5, all: 'x' })).toBe('1.234,5 von x');
  });

  it('has the plural form of its number', () => {
    expect([0, 1, 2000].map((n) => t('count.bots', { n }))).toEqual([
      '0 bots',
      '1 bot',
      '2,000 bots',
    ]);
    useTexts('de', de);
    expect([0, 1, 2000].map((n) => t('count.lines', { n }))).toEqual([
      '0 Zeilen',
      '1 Zeile',
      '2.000 Zeilen',
    ]);
  });

  it('can have elements in it', () => {
    const element = { type: 'a' };
    expect(rich('herd.createFirst', { bots: element as never })).toEqual([
      'Create the first in ',
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

it('numbers and sizes are written as the language does', () => {
  const written = (): string[] => [
    numberText(1234567.25),
    fixedText(1, 1),
    sizeText(1.5 * 1024 ** 3),
    sizeText(512),
  ];
  expect(written()).toEqual(['1,234,567.25', '1.0', '1.5 GB', '512 bytes']);
  useTexts('de', de);
  expect(written()).toEqual(['1.234.567,25', '1,0', '1,5 GB', '512 Byte']);
});

it('the language is the first that the browser asks for and that there is', () => {
  expect(languageFor(['de-AT', 'en'])).toBe('de');
  expect(languageFor(['fr', 'de'])).toBe('de');
  expect(languageFor(['en-GB', 'de'])).toBe('en');
  expect(languageFor(['fr'])).toBe('en');
  expect(languageFor([])).toBe('en');
});

/** Names, and what is typed as it is in every language. */
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
  if (Array.isArray(node)) for (const one of node) wordsIn(one, found);
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
  '$file has its texts from the file of the language',
  ({ source }) => {
    const words = wordsIn(parseAst(source, { lang: 'tsx' }), []);
    expect(words.filter((text) => !NAMES.includes(text))).toEqual([]);
  },
);
