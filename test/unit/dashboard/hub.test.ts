// What the dashboard's hub keeps: bounded, and numbered without a hole.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Hub } from '../../../dashboard/src/hub/hub.js';
import { HubState } from '../../../dashboard/src/hub/hub-state.js';
import { idBefore, isBehind } from '../../../dashboard/src/hub/line.js';
import { Ring } from '../../../dashboard/src/hub/line-ring.js';
import type { Port, ToHub, ToTab } from '../../../dashboard/src/hub/messages.js';
import { MAX_SECONDS, Seconds } from '../../../dashboard/src/hub/seconds.js';
import type { Operation } from '../../../src/client/index.js';

interface Item {
  n: number;
  text: string;
}

describe('Ring', () => {
  it('keeps the last lines, bounded in number and size, for any input', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 300 }), (lengths) => {
        const ring = new Ring<Item>(50, 500, ({ text }) => text.length);
        for (const length of lengths) ring.push({ text: 'x'.repeat(length) });
        const kept = ring.from(0);
        expect(kept.length).toBeLessThanOrEqual(50);
        expect(kept.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(500);
        expect(ring.next).toBe(lengths.length + 1);
        expect(kept.map(({ n }) => n)).toEqual(kept.map((_, at) => ring.first + at));
        expect(kept.map(({ text }) => text.length)).toEqual(
          lengths.slice(lengths.length - kept.length),
        );
      }),
    );
  });

  it('gives what is new to a cursor', () => {
    const ring = new Ring<Item>(100);
    for (const text of 'abcde') ring.push({ text });
    expect(ring.from(4).map(({ text }) => text)).toEqual(['d', 'e']);
    expect(ring.from(ring.next)).toEqual([]);
    ring.clear();
    ring.push({ text: 'f' });
    expect(ring.from(0)).toEqual([{ n: 6, text: 'f' }]);
  });
});

describe('operations', () => {
  const operation = (id: string, done: number) => ({ id, counts: { done } }) as Operation;

  it('each is once in an update, as it is now, and then not again', () => {
    const state = new HubState(() => {});
    state.applyOperation(operation('a', 1));
    state.applyOperation(operation('b', 1));
    state.applyOperation(operation('a', 2));
    const first = state.since(undefined, false);
    expect(first?.news.operations).toEqual([operation('b', 1), operation('a', 2)]);
    expect(state.since(first?.cursor, false)).toBeUndefined();
    state.applyOperation(operation('b', 2));
    expect(state.since(first?.cursor, false)?.news.operations).toEqual([operation('b', 2)]);
  });

  it('those that have changed last are kept, up to a number', () => {
    const state = new HubState(() => {});
    for (let n = 0; n < 300; n++) state.applyOperation(operation(String(n), 0));
    const ids = state.since(undefined, false)?.news.operations.map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 200 }, (_, n) => String(n + 100)));
  });
});

describe('Seconds', () => {
  it('counts by level, and keeps a quarter of an hour', () => {
    const seconds = new Seconds();
    seconds.count(1000, 'error');
    seconds.count(1999, 'info');
    seconds.count(1999, undefined);
    seconds.count(2000, 'warn');
    expect(seconds.from(0)).toEqual([
      [1, 3, 1, 0, 1, 0, 1],
      [2, 1, 0, 1, 0, 0, 0],
    ]);
    // A clock that is set back counts where it was.
    seconds.count(500, 'state');
    expect(seconds.from(2)).toEqual([[2, 2, 0, 1, 0, 1, 0]]);
    for (let at = 3; at < 2000; at++) seconds.count(at * 1000, 'info');
    expect(seconds.from(0).length).toBe(MAX_SECONDS);
  });

  it('knows since when its counts are complete, also after another connection', () => {
    const seconds = new Seconds();
    expect(seconds.since).toBeNull();
    seconds.begin(1400);
    seconds.begin(9000);
    expect(seconds.since).toBe(2);
    const next = new Seconds();
    next.add(seconds.from(0), seconds.since);
    next.begin(9000);
    expect(next.since).toBe(2);
    next.clear();
    expect(next.since).toBeNull();
  });
});

describe('ids', () => {
  it('are compared by number within one numbering only', () => {
    expect(isBehind('ab-10', 'ab-9')).toBe(true);
    expect(isBehind('ab-9', 'ab-9')).toBe(false);
    expect(isBehind('cd-1', 'ab-9')).toBeUndefined();
    expect(idBefore('ab-10')).toBe('ab-9');
    expect(idBefore('ab-1')).toBeUndefined();
  });
});

describe('tabs', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A tab that has joined; `answers` says whether it responds to pings. */
  function join(hub: Hub, answers: boolean) {
    const heard: string[] = [];
    const port: Port<ToTab, ToHub> = {
      send: ({ type }) => {
        heard.push(type);
        if (type === 'ping' && answers) port.receive({ type: 'here' });
      },
      receive: () => {},
    };
    hub.attach(port);
    port.receive({ type: 'hello', token: null, isNew: false });
    return { heard, say: (message: ToHub) => port.receive(message) };
  }

  it('are asked when they are silent, forgotten when they do not answer, and known again when they do', () => {
    const hub = new Hub('http://localhost:1');
    const [hidden, dead] = [join(hub, true), join(hub, false)];
    vi.advanceTimersByTime(10 * 60_000);
    expect(hidden.heard.filter((type) => type === 'ping').length).toBeGreaterThan(3);
    expect(dead.heard.filter((type) => type === 'ping').length).toBe(3);
    const asked = dead.heard.length;
    hidden.say({ type: 'sign-out' });
    expect(hidden.heard.at(-1)).toBe('session');
    expect(dead.heard.length).toBe(asked);
    // It had only slept: what it has missed it is told.
    dead.say({ type: 'here' });
    expect(dead.heard.slice(asked)).toEqual(['session', 'firing']);
    hub.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
