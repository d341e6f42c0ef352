// A check on the wording of everything that people read: documents, comments, messages, help texts and test titles. The
// list has phrases that this project used and that a native engineer would not write, each with what to write instead.

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
  { banned: 'anew', say: 'again; or: reloads, restarts, rebuilds' },
  {
    banned: '(?:go|goes|going|gone|went) on',
    say: 'continue; or: resume, keep running',
    allowed:
      '(?:go|goes|going|gone|went) on (?:the|a|an|disk|top|line|sale|its|that|this|one|each) \\w+',
  },
  { banned: '(?:its|their|his|her|my|your|our) very own', say: 'its own' },
  {
    banned: 'of (?:its|their|his|her|my|your|our|one.s) own',
    say: 'its own …: "a thread of its own" is "its own thread"',
  },
  { banned: 'who(?:m)?ever', say: 'any client, any caller, the one that' },
  { banned: 'whatever', say: 'any; regardless of; everything that' },
  {
    banned: '(?:held|hold|holds|holding) (?:\\w+ )?against',
    say: 'validated against, compared with, charged to',
  },
  { banned: 'stands? in the past', say: 'is replaying' },
  {
    banned: '(?:as|than) (?:it|they|there|he|one) may',
    say: 'rate limit exceeded, limit reached; or: name the rule',
  },
  { banned: 'dossiers?', say: 'incident report' },
  {
    banned: '(?:put|puts|putting|kept|keep|keeps|set|sets) (?:\\w+ )?apart',
    say: 'quarantine, quarantined',
  },
  { banned: 'kept answers?', say: 'cached response' },
  { banned: 'made of', say: 'built from' },
  {
    banned: 'chang(?:e|es|ed|ing) (?:the|a|its|this) PIN (?:for|into|to)',
    say: 'exchange the PIN for a token',
  },
  { banned: 'told of', say: 'is notified of; or: is reported, is logged' },
  { banned: 'what is there', say: 'name the thing: the file, the queue, the open streams' },
  { banned: 'ends? over (?:it|this|that)', say: 'fails because of it' },
  { banned: '(?:has|have|had|gets) (?:its|their) turn', say: 'runs next, is scheduled' },
  {
    banned: '(?:take|takes|taken|took) up',
    say: 'adopt, accept, use',
    allowed: '(?:take|takes|taken|took) up (?:to|\\d+|\\w+ (?:space|room|memory))',
  },
  { banned: 'of (?:that|this) kind', say: 'such …, like this' },
  { banned: '(?:stand|stands|stood|standing) still', say: 'hang, stall, block' },
  { banned: '(?:put|puts|putting) together', say: 'bundle, compose, assemble' },
  { banned: 'mend(?:s|ed|ing)?', say: 'fix' },
  { banned: 'in (?:its|their) stead', say: 'instead' },
  { banned: 'broken? off', say: 'unclean, interrupted, dropped' },
  { banned: 'Pure; used by', say: '(nothing: a pure module needs no header)' },
  {
    banned: 'Owns (?:how|what|which|when|where|whether|who)',
    say: 'the state or resource that it owns, or no header',
  },
  // Names of before.
  { banned: 'heldTls\\w*', say: 'TlsSnapshot' },
  {
    banned: 'own-(?:schemas|validators|memory)|ownMemory\\w*',
    say: 'schemas, validators, anonymousRss',
  },
  {
    banned: 'dressedExchange|routeLoad|streamSeat\\w*|keptAnswer\\w*',
    say: 'ExchangeDecorator, InFlightLimiter, StreamLease, CachedResponse',
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
  expect(found('The line goes on the stream. It takes up to 5 s.')).toBe(0);
});
