import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { apiPage } from '../../../config/api-page.js';
import { projectDir } from '../../../config/generate.js';

const page = readFileSync(join(projectDir(), 'docs', 'API.md'), 'utf8');

it('docs/API.md has the tables of the table of routes and the schemas', () => {
  expect(page, 'out of date: run npm run generate').toBe(apiPage(page));
});

it.each([
  ['a table of an unknown schema', '<!-- fields Nobody -->\n<!-- end -->', 'there is no Nobody'],
  ['a body that a route does not have', '<!-- body GET /health -->\n<!-- end -->', 'has no body'],
])('refuses %s', (_, text, message) => {
  expect(() => apiPage(text)).toThrow(message);
});

it('replaces what stands between the marks, and nothing else', () => {
  const made = apiPage('before\n\n<!-- fields GapEvent -->\nold\n<!-- end -->\n\nafter\n');
  expect(made).toMatch(
    /^before\n\n<!-- fields GapEvent -->\n\n\| field[\s\S]*<!-- end -->\n\nafter\n$/,
  );
  expect(made).toContain('| `dropped` | integer or null |');
  expect(made).not.toContain('old');
});
