// docs/QUERY.md says what the code does.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MAX_QUERY } from '../../../../src/shared/contract/query-bounds.js';
import { FIELD_NAMES, FIELDS, type Field, isUsable } from '../../../../src/shared/query/fields.js';
import { parseQuery } from '../../../../src/shared/query/parse-query.js';
import {
  MAX_PATH,
  MAX_PATH_PARTS,
  MAX_REGEX,
  MAX_REGEXES,
  MAX_TERM_VALUES,
  MAX_TERMS,
} from '../../../../src/shared/query/query-bounds.js';
import { MAX_PARTS, MAX_POSITIONS } from '../../../../src/shared/query/regex-tree.js';
import { ROOT } from '../../../harness/docs.js';

const DOCUMENT = readFileSync(path.join(ROOT, 'docs/QUERY.md'), 'utf8');
const [INTRODUCTION = '', TERMS = ''] = DOCUMENT.split('## Terms');

/** The first cells of the table under these words. */
function firstCells(text: string, words: string): string[] {
  const table = text.slice(text.indexOf(words)).split('\n\n')[1] ?? '';
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split(/(?<!\\)\|/)[1]?.trim() ?? '');
}

it('has examples that can be read', () => {
  const ofBots = firstCells(INTRODUCTION, 'One language');
  const ofLines = firstCells(INTRODUCTION, 'In a query for events');
  expect(ofBots.length).toBeGreaterThan(5);
  expect(ofLines.length).toBeGreaterThan(5);
  for (const cell of ofBots) parseQuery(cell.replaceAll('`', ''), 'bots');
  for (const cell of ofLines) parseQuery(cell.replaceAll('`', ''), 'lines');
});

it('has all fields, with their other names', () => {
  const shown = [...firstCells(TERMS, 'Of bots, and'), ...firstCells(TERMS, 'Of events:')];
  const names = FIELD_NAMES.map((name) => {
    const { aliases = [] }: Field = FIELDS[name];
    return [name === 'data' ? 'data.<name>' : name, ...aliases].map((one) => `\`${one}\``);
  });
  expect(shown.map((cell) => cell.split(', '))).toEqual(names);
});

it('has the limits', () => {
  const rows = DOCUMENT.slice(DOCUMENT.indexOf('## Limits'));
  expect(rows).toContain(`| characters of a query | ${MAX_QUERY.toLocaleString('en')} |`);
  expect(rows).toContain(`| terms | ${MAX_TERMS} |`);
  expect(rows).toContain(`| values of a term | ${MAX_TERM_VALUES} |`);
  expect(rows).toContain(`${MAX_REGEXES} of ${MAX_REGEX} characters each, and ${MAX_POSITIONS} `);
  expect(rows).toContain(`with ${MAX_PARTS.toLocaleString('en')} parts`);
  expect(rows).toContain(`${MAX_PATH} characters; behind \`data.\` ${MAX_PATH_PARTS} parts`);
});

it('has the error that is answered', () => {
  const [, json = ''] = /```json\n(.*)\n```/.exec(DOCUMENT) ?? [];
  const { error } = JSON.parse(json) as { error: string };
  expect(() => parseQuery('stauts:failed', 'bots')).toThrow(error.replace('query: ', ''));
});

it('says what fields are for', () => {
  for (const name of FIELD_NAMES) {
    const { example } = FIELDS[name];
    for (const use of ['bots', 'lines'] as const) {
      if (isUsable(name, use)) expect(parseQuery(example, use)).toHaveLength(1);
    }
  }
});
