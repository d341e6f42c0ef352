// Which labels a bot had at which frame, beside a model that keeps every frame's labels.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { type BotLabels, LabelHistory } from '../../../src/shared/stream/label-history.js';

const names = new NameHasher('key');
const BOTS = ['one', 'two', 'three'];
const LABELS: BotLabels[] = [{}, { team: 'a' }, { team: 'b' }, { team: 'a', region: 'x' }];
const WANTED: BotLabels[] = [{ team: 'a' }, { team: 'b' }, { region: 'x', team: 'a' }];

/** What one frame of the ring tells: new labels of a bot, its end (null), or nothing of them. */
const frames = fc.array(
  fc.option(
    fc.record({
      bot: fc.constantFrom(...BOTS),
      labels: fc.option(fc.constantFrom(...LABELS), { freq: 4 }),
    }),
  ),
  { maxLength: 60, size: 'max' },
);

const has = (labels: BotLabels | null | undefined, wanted: BotLabels): boolean =>
  !!labels && Object.entries(wanted).every(([name, value]) => labels[name] === value);

describe('the history of labels', () => {
  it('knows for each frame that can still be read what a model knows that forgets nothing', () => {
    fc.assert(
      fc.property(frames, fc.double({ min: 0, max: 1, noNaN: true }), (told, kept) => {
        const history = new LabelHistory();
        /** By frame: what each bot had before it and from it on; a frame that changes labels is of both. */
        const model: Map<string, [BotLabels | null, BotLabels | null]>[] = [];
        const now = new Map<string, BotLabels | null>();
        let tail = 0;
        for (const [seq, change] of told.entries()) {
          const before = new Map(now);
          if (change) {
            now.set(change.bot, change.labels);
            const name = names.of(change.bot);
            if (change.labels) history.set(name, change.labels, seq, seq + 1);
            else history.remove(name, seq + 1);
          }
          model.push(
            new Map(BOTS.map((bot) => [bot, [before.get(bot) ?? null, now.get(bot) ?? null]])),
          );
          tail = Math.floor(seq * kept);
          history.prune(tail);
        }
        for (let seq = tail; seq < told.length; seq++) {
          for (const bot of BOTS) {
            const { low, high } = names.of(bot);
            const [before, after] = model[seq]?.get(bot) ?? [null, null];
            for (const wanted of WANTED) {
              const expected = has(before, wanted) || has(after, wanted);
              expect(history.had(low, high, seq, wanted), `${bot} at ${seq}`).toBe(expected);
            }
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('takes no bot for another whose hash has the same low word', () => {
    const history = new LabelHistory();
    const { low, high, json } = names.of('one');
    history.set({ low, high, json }, { team: 'a' }, 0, 0);
    history.set({ low, high: high ^ 1, json }, { team: 'b' }, 0, 0);
    expect(history.had(low, high, 5, { team: 'a' })).toBe(true);
    expect(history.had(low, high, 5, { team: 'b' })).toBe(false);
    expect(history.had(low, high ^ 1, 5, { team: 'b' })).toBe(true);
    expect(history.had(low, high ^ 2, 5, { team: 'a' })).toBe(false);
  });

  it('is not misled by labels that are named like properties of every object', () => {
    const history = new LabelHistory();
    const name = names.of('one');
    history.set(name, {}, 0, 0);
    expect(history.had(name.low, name.high, 1, { constructor: 'x' })).toBe(false);
  });
});
