// In main. What a node writes into its lease, and how others read it: of a later version, they take what they know.

import type { HeldBot } from '../../shared/contract/nodes.js';
import { checkNamed, parseJson } from '../wire/bus-validators.js';
import { PROTOCOL, READABLE } from '../wire/names.js';
import { nodeOfKey } from './node-keys.js';
import type { NodeRecord } from './parts.js';

const NOBODY: Omit<NodeRecord, 'node' | 'id' | 'incarnation'> = {
  v: PROTOCOL,
  labels: {},
  version: '',
  address: null,
  started_at_ms: 0,
  kinds: [],
  capacity: { cores: 1, memory_mb: 0 },
  figures: { bots: 0, running: 0, streams: 0, cpu: 0, memory_mb: 0, unpublished: 0 },
  wanted: 'live',
  renewed_at_ms: 0,
  has_key: true,
  shares_incidents: false,
  events_stalled: '',
};

const WANTED: readonly string[] = ['live', 'cordoned', 'draining'];

/** A lease of a node, or of the leader. @returns the text. @throws Error that says why it is none. A lease of any version counts. */
export function checkLease(key: string, text: string): string {
  const record = parseJson(text);
  const { v } = (record ?? {}) as { v?: number };
  const isNode = nodeOfKey(key) !== null;
  // What a later version has beside this is not known.
  if (!isNode || !(Number(v) > READABLE))
    checkNamed('BusRecords', isNode ? 'node' : 'leader', record);
  else if (readNodeRecord('', text) === null) throw new Error('it names no run of a node');
  return text;
}

/** @returns null for what is not a record. A lease of any version counts: its node runs bots. */
export function readNodeRecord(node: string, text: string): NodeRecord | null {
  const read = parse(text);
  if (typeof read['id'] !== 'string' || typeof read['incarnation'] !== 'string') return null;
  const known = Object.fromEntries(
    Object.entries(NOBODY).map(([name, value]) => [name, like(value, read[name])]),
  ) as typeof NOBODY;
  // One that it does not know is none that takes bots.
  const wanted = WANTED.includes(known.wanted) ? known.wanted : 'cordoned';
  const address = typeof read['address'] === 'string' ? read['address'] : null;
  const { id, incarnation, leftovers } = read;
  const whole = { ...known, wanted, address, node, id, incarnation };
  // Absent on an older node.
  return Array.isArray(leftovers) ? { ...whole, leftovers: leftovers.filter(isHeld) } : whole;
}

function isHeld(value: unknown): value is HeldBot {
  const { bot, reason } = (value ?? {}) as Partial<HeldBot>;
  return typeof bot === 'string' && typeof reason === 'string';
}

/** Of the same type as what is expected, else that. */
function like(expected: unknown, value: unknown): unknown {
  if (Array.isArray(expected)) return Array.isArray(value) ? value : expected;
  if (expected === null || typeof expected !== 'object')
    return typeof value === typeof expected ? value : expected;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return expected;
  // Figures that an older node does not have are zero.
  return { ...expected, ...value };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
