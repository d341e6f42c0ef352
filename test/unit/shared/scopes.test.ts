// The scopes that only the service writes in: one list, which all that it writes is in.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BotLines } from '../../../src/bot-host/bot-lines.js';
import { BotLogger } from '../../../src/bot-host/bot-logger.js';
import type { LogItem } from '../../../src/shared/contract/events.js';
import { isServiceScope } from '../../../src/shared/contract/scopes.js';
import { ROOT } from '../../harness/docs.js';

/** Lines about a bot, and its own. */
const SHARED = 'bot';
const FOLDERS = ['src/main', 'src/broadcaster', 'src/front', 'src/rules', 'src/cluster'];

const SCOPES = [
  'auth',
  'drover',
  'drover.config',
  'drover.control',
  'drover.rules',
  'drover.x',
  'journal',
  'dispatch',
];

describe('a bot that writes in a scope of the service', () => {
  it.each([...SCOPES, 'Auth', ' auth ', 'DROVER.Config'])(
    '%j keeps its line, in another scope',
    (scope) => {
      const items: LogItem[] = [];
      const outbox = { add: (item: LogItem) => void items.push(item), hasRoom: () => true };
      const lines = new BotLines(outbox as never, 'a', 0);
      new BotLogger(lines, 'bot').scope(scope).info('hello');
      new BotLogger(lines, 'bot').scope(scope).wire('tcp', 'incoming', 'hello');
      expect(items.map((item) => [item.scope, item.session_id])).toEqual([
        [`bot:${scope}`, 'a'],
        [`bot:${scope}`, 'a'],
      ]);
      expect(isServiceScope(`bot:${scope}`)).toBe(false);
    },
  );

  it.each(['bot', 'tcp', 'http', 'auth_client', 'tutorial', 'authority', 'droverx', 'irc'])(
    '%s is free',
    (scope) => {
      expect(isServiceScope(scope)).toBe(false);
    },
  );
});

it('each scope that the service writes in is in the list', () => {
  const used = FOLDERS.flatMap(sourcesIn).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    // Of a line, and of what makes one.
    const found = [...text.matchAll(/(?:logItem\(\s*[^,()]+,|\bscope:)\s*'([^']*)'/g)];
    return found.map(([, scope = '']) => ({ file: path.relative(ROOT, file), scope }));
  });
  // A positive control.
  expect(used.map(({ scope }) => scope)).toContain(SHARED);
  expect(used.filter(({ scope }) => scope !== SHARED)).toEqual([]);
  const named = readFileSync(path.join(ROOT, 'src/shared/contract/scopes.ts'), 'utf8');
  const constants = [...named.matchAll(/_SCOPE = '([^']*)'/g)].map(([, scope = '']) => scope);
  expect(constants.length).toBeGreaterThan(5);
  for (const scope of constants) expect(isServiceScope(scope), scope).toBe(true);
});

function sourcesIn(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(ROOT, folder, name));
}
