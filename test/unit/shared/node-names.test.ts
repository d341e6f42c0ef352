import { expect, test } from 'vitest';
import {
  createNodeNames,
  MAX_NODES,
  NodeNames,
  NodeNamesWriter,
} from '../../../src/shared/memory/node-names.js';

test('a reader finds each name by its number, also names that are added later', () => {
  const shared = createNodeNames();
  const writer = new NodeNamesWriter(shared);
  const reader = new NodeNames(shared);
  const longest = 'n'.repeat(63);
  const first = writer.number('h1');
  expect(reader.name(first)).toBe('h1');
  expect(reader.name(first + 1)).toBe('');
  const second = writer.number(longest);
  expect(reader.name(second)).toBe(longest);
  expect(reader.name(0)).toBe('');
  expect(writer.number('h1')).toBe(first);
  expect(new NodeNames(shared).name(second)).toBe(longest);
});

test('nodes beyond the room have no number', () => {
  const writer = new NodeNamesWriter(createNodeNames());
  for (let node = 1; node <= MAX_NODES; node++) expect(writer.number(`h${node}`)).toBe(node);
  expect(writer.number('one-more')).toBe(0);
  expect(writer.number('h7')).toBe(7);
});
