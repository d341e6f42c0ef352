// What a node makes of the record of another, which may be of another version.

import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { NodeIdentity } from '../../../../src/cluster/control/node-identity.js';
import { readNodeRecord } from '../../../../src/cluster/control/node-record.js';

let dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  dirs = [];
});

function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'drover-identity-'));
  dirs.push(dir);
  return dir;
}

it('ignores fields that it does not know, and fills those that are not there', () => {
  const text = JSON.stringify({
    v: 9,
    id: 'i',
    incarnation: 'n',
    kinds: ['irc'],
    figures: { bots: 3, wheels: 4 },
    capacity: 'much',
    colour: 'red',
  });
  expect(readNodeRecord('h1', text)).toEqual({
    v: 9,
    node: 'h1',
    id: 'i',
    incarnation: 'n',
    labels: {},
    version: '',
    address: null,
    started_at_ms: 0,
    kinds: ['irc'],
    capacity: { cores: 1, memory_mb: 0 },
    figures: { bots: 3, wheels: 4, running: 0, streams: 0, cpu: 0, memory_mb: 0, unpublished: 0 },
    wanted: 'live',
    renewed_at_ms: 0,
    has_key: true,
    shares_incidents: false,
    events_stalled: '',
  });
});

it('has the leftovers of the other node, unless that does not tell them', () => {
  const leftovers = [{ bot: 'a', reason: 'why' }, { bot: 1 }, null, 'b'];
  const text = JSON.stringify({ id: 'i', incarnation: 'n', leftovers });
  expect(readNodeRecord('h1', text)?.leftovers).toEqual([{ bot: 'a', reason: 'why' }]);
  expect(readNodeRecord('h1', '{"id":"i","incarnation":"n"}')).not.toHaveProperty('leftovers');
});

it('takes nothing else for a record', () => {
  for (const text of ['', 'null', '[]', '{}', '{"id":1,"incarnation":"n"}', 'x'])
    expect(readNodeRecord('h1', text)).toBeNull();
});

it('has one identity in one directory, and keeps what was asked of it', () => {
  const dir = newDir();
  const first = new NodeIdentity(dir);
  first.want('draining');
  const [file = ''] = readdirSync(dir);
  expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  const again = new NodeIdentity(dir);
  expect(again.id).toBe(first.id);
  expect(again.wanted).toBe('draining');
  expect(new NodeIdentity(newDir()).id).not.toBe(first.id);
});

it('has another identity in a copy of the directory: both may run', () => {
  const dir = newDir();
  const first = new NodeIdentity(dir);
  const copy = newDir();
  chmodSync(copy, 0o700);
  for (const file of readdirSync(dir)) renameSync(join(dir, file), join(copy, file));
  expect(new NodeIdentity(copy).id).not.toBe(first.id);
});
