import { expect, it } from 'vitest';
import { IncidentWindow } from '../../../src/main/bots/incident-window.js';

it('the same fault gets five reports a minute; more are counted on the last', () => {
  const window = new IncidentWindow();
  const taken = Array.from({ length: 8 }, (_, n) =>
    window.take('crash', 'of bot a', `${n}`, n * 1000),
  );
  expect(taken).toEqual(['0', '1', '2', '3', '4', '4', '4', '4']);
  // Other bots, and other faults of the same bot, are counted separately.
  expect(window.take('crash', 'of bot b', 'b', 8000)).toBe('b');
  expect(window.take('hang', 'of bot a', 'h', 8000)).toBe('h');
});

it('the window slides: when the oldest is a minute old there is room for one more', () => {
  const window = new IncidentWindow();
  for (let n = 0; n < 5; n++) window.take('crash', 'of bot a', `${n}`, n * 1000);
  expect(window.take('crash', 'of bot a', 'x', 59_999)).toBe('4');
  expect(window.take('crash', 'of bot a', 'y', 60_000)).toBe('y');
  expect(window.take('crash', 'of bot a', 'z', 60_001)).toBe('y');
});

it('there are 200 reports a minute in total, 50 of them reserved for hosts; more are counted on the last of the same fault, if any', () => {
  const window = new IncidentWindow();
  for (let n = 0; n < 150; n++) {
    expect(window.take('crash', `of bot ${n}`, `${n}`, n)).toBe(`${n}`);
  }
  expect(window.take('crash', 'of bot 7', 'x', 300)).toBe('7');
  for (const type of ['crash', 'failed', 'overdue'] as const) {
    expect(window.take(type, 'of bot 1000', 'y', 300)).toBeNull();
  }
  const types = ['hang', 'out_of_memory', 'host_lost'] as const;
  for (let n = 0; n < 50; n++) {
    expect(window.take(types[n % 3] ?? 'hang', `of bot ${n}`, `h${n}`, 400)).toBe(`h${n}`);
  }
  expect(window.take('hang', 'of bot 51', 'h', 400)).toBeNull();
  expect(window.take('crash', 'of bot 1000', 'y', 60_000)).toBeNull();
  expect(window.take('crash', 'of bot 1000', 'y', 60_100)).toBe('y');
});
