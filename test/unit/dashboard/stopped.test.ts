// A restart of many bots must not start those that are stopped on purpose, unless the user wants that.

import { expect, it } from 'vitest';
import { forRestart } from '../../../dashboard/src/model/stopped.js';

const bots = new Map<string, { status: string; desired: 'running' | 'stopped' }>([
  ['a', { status: 'in_world', desired: 'running' }],
  ['b', { status: 'stopped', desired: 'stopped' }],
  ['c', { status: 'stopping', desired: 'stopped' }],
  ['d', { status: 'failed', desired: 'running' }],
  ['e', { status: 'backoff', desired: 'running' }],
  // Not started, because the service cannot run it now.
  ['f', { status: 'stopped', desired: 'running' }],
]);

it('tells the bots that a restart would start from those that it restarts', () => {
  expect(forRestart(['a', 'b', 'c', 'd', 'e', 'f'], bots)).toEqual({
    running: ['a', 'd', 'e'],
    stopped: ['b', 'c', 'f'],
    text: '2 running, 1 failed, 3 stopped',
  });
  expect(forRestart(['a', 'gone'], bots)).toEqual({
    running: ['a', 'gone'],
    stopped: [],
    text: '2 running',
  });
});
