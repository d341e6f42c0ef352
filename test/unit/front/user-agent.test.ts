import { expect, it } from 'vitest';
import { clientName } from '../../../src/front/access/user-agent.js';

const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)';
const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

it.each([
  [`${LINUX.replace(')', '; rv:133.0)')} Gecko/20100101 Firefox/133.0`, 'Firefox on Linux'],
  [`${WINDOWS} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome on Windows'],
  [`${WINDOWS} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge on Windows'],
  [`${LINUX} ${WEBKIT} HeadlessChrome/131.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [
    `${MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15`,
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  ['curl/8.5.0', 'curl'],
  ['node', 'node'],
  ['python-requests/2.32', 'python-requests'],
  ['', undefined],
  ['Mozilla/5.0', undefined],
  ['\u202e<script>', undefined],
  [`${'x'.repeat(100)}/1`, undefined],
])('%s is %s', (header, name) => {
  expect(clientName(header)).toBe(name);
});

it('looks at the beginning of a long header only', () => {
  expect(clientName(`Mozilla/5.0 ${' '.repeat(1000)} Firefox/1`)).toBeUndefined();
});
