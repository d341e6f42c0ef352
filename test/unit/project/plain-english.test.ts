// A check on the wording of everything that people read: documents, comments, messages, help texts and test titles. The
// list has phrases that a native engineer would not write, each with what to write instead.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../harness/docs.js';

interface Phrase {
  /** Case does not matter. A space stands for any white space, also where a comment continues on the next line. */
  banned: string;
  say: string;
  /** The same words used as plain English. They must cover the whole phrase. */
  allowed?: string;
}

const PHRASES: readonly Phrase[] = [
  {
    banned:
      'anew|mend(?:s|ed|ing)?|in (?:its|their) stead|here(?:by|in|of|to)|there(?:by|in|of|to)|where(?:by|in|of|upon)',
    say: 'a word of today: again, fix, instead, by this',
  },
  {
    banned: '(?:go|goes|going|gone|went) on',
    say: 'continue; or: resume, keep running',
    allowed:
      '(?:go|goes|going|gone|went) on (?:the|a|an|disk|top|line|sale|its|that|this|one|each) \\w+',
  },
  {
    banned:
      'of (?:its|their|his|her|my|your|our|one.s) own|(?:its|their|his|her|my|your|our) very own',
    say: 'its own …: "a thread of its own" is "its own thread"',
  },
  {
    banned: '(?:who|whom|what)ever',
    say: 'any client, the one that; any, regardless of, everything that',
  },
  {
    banned: '(?:held|hold|holds|holding) (?:\\w+ )?against',
    say: 'validated against, compared with, charged to',
  },
  {
    banned: '(?:as|than) (?:it|they|there|he|one) may',
    say: 'rate limit exceeded, limit reached; or: name the rule',
  },
  // Verbs of everyday speech with a particle, for which a technical text has one exact verb.
  {
    banned:
      '(?:put|puts|putting|kept|keep|keeps|set|sets) (?:\\w+ )?apart|(?:put|puts|putting) together|' +
      '(?:stand|stands|stood|standing) still|broken? off|(?:take|takes|taken|took) up|told of|ends? over (?:it|this|that)',
    say: 'one verb: quarantine, bundle, hang, interrupt, adopt, notify, fail',
    allowed: '(?:take|takes|taken|took) up (?:to|\\d+|\\w+ (?:space|room|memory))',
  },
  { banned: 'what is there', say: 'name the thing: the file, the queue, the open streams' },
  {
    banned: 'Owns (?:how|what|which|when|where|whether|who)',
    say: 'the state or resource that it owns, or no header',
  },
];

/** What is read, by the folders that somebody looks after. */
const AREAS: Record<string, readonly string[]> = {
  documents: ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs', 'package.json', 'biome.json'],
  dashboard: ['dashboard'],
  bench: ['bench'],
  config: ['config', 'Dockerfile', 'docker', '.ci', 'rolldown.config.mjs', 'vitest.config.ts'],
  workers: ['workers'],
  ...foldersOf('src'),
  ...foldersOf('test'),
  ...foldersOf('test/unit'),
};

/** This file. */
const LIST = 'test/unit/project/plain-english.test.ts';
const TEXT =
  /(?:\.(?:ts|tsx|js|mjs|c|md|json|css|html|yml|yaml|service|sh|conf)|\/run|Dockerfile)$/;

function foldersOf(parent: string): Record<string, readonly string[]> {
  const folders = readdirSync(path.join(ROOT, parent), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && `${parent}/${entry.name}` !== 'test/unit',
  );
  return Object.fromEntries(
    folders.map(({ name }) => [`${parent}/${name}`, [`${parent}/${name}`]]),
  );
}

function filesOf(at: string): string[] {
  if (statSync(path.join(ROOT, at)).isFile()) return [at];
  return readdirSync(path.join(ROOT, at), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesOf(`${at}/${entry.name}`) : [`${at}/${entry.name}`],
  );
}

/** Between two words: white space, and where a line ends what begins the next one in a comment or a list. */
const GAP = '\\s+(?:(?://+|\\*|#|<!--|>)\\s+)?';
const pattern = (words: string): RegExp =>
  new RegExp(`(?<![\\w-])(?:${words.replaceAll(' ', GAP)})(?![\\w-])`, 'gi');
const patterns = PHRASES.map(({ banned, say, allowed }) => ({
  banned: pattern(banned),
  allowed: allowed === undefined ? undefined : pattern(allowed),
  say,
}));

/** @returns file:line, the words found, and what to say. */
function findings(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  return patterns.flatMap(({ banned, allowed, say }) => {
    const fine = allowed === undefined ? [] : [...text.matchAll(allowed)].map(({ index }) => index);
    return [...text.matchAll(banned)]
      .filter(({ index }) => !fine.includes(index))
      .map(({ 0: words, index }) => {
        const line = text.slice(0, index).split('\n').length;
        return `${file}:${line} "${words.replace(/\s+/g, ' ')}": say ${say}`;
      });
  });
}

it.each(Object.entries(AREAS))('%s is in plain English', (_area, places) => {
  const files = places.flatMap(filesOf).filter((file) => file !== LIST && TEXT.test(file));
  const found = files.flatMap(findings);
  expect(found, `${found.length} phrases:\n${found.join('\n')}`).toEqual([]);
});

it('a phrase is found across the lines of a comment, and plain uses of the words are not', () => {
  const found = (text: string): number =>
    patterns.filter(({ banned, allowed }) => {
      const fine =
        allowed === undefined ? [] : [...text.matchAll(allowed)].map(({ index }) => index);
      return [...text.matchAll(banned)].some(({ index }) => !fine.includes(index));
    }).length;
  expect(found('// The stream goes\n// on after that.')).toBe(1);
  expect(found(' * a thread of\n   * its own')).toBe(1);
  expect(found('It is mended, and not told of whoever had put it apart.')).toBe(3);
  expect(found('The line goes on the stream. It takes up to 5 s.')).toBe(0);
});
