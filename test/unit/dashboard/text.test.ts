// How the dashboard shows the text of lines: colours become classes; other escapes are made visible or removed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pieces } from '../../../dashboard/src/parts/ansi.js';
import { visible, withoutEscapes } from '../../../src/shared/contract/escapes.js';

const ESC = '\u001b';
const shown = (text: string, isWrapped = false): string =>
  pieces(text, isWrapped)
    .map((piece) => piece.text)
    .join('');

describe('pieces', () => {
  it('leaves plain text as it is', () => {
    expect(pieces('<b>hello</b> Ünïcode 🐑')).toEqual([
      { text: '<b>hello</b> Ünïcode 🐑', style: '' },
    ]);
  });

  it('knows the sixteen colours, weights, and how they end', () => {
    expect(
      pieces(`${ESC}[31mred ${ESC}[1mbold${ESC}[22;39m plain ${ESC}[97;44mwhite on blue${ESC}[m.`),
    ).toEqual([
      { text: 'red ', style: 'ansi-f1' },
      { text: 'bold', style: 'ansi-f1 ansi-bold' },
      { text: ' plain ', style: '' },
      { text: 'white on blue', style: 'ansi-f15 ansi-b4' },
      { text: '.', style: '' },
    ]);
  });

  it('takes 256 and true colours for the nearest of the sixteen, and what stands behind them for itself', () => {
    expect(pieces(`${ESC}[38;5;196;1ma`)).toEqual([{ text: 'a', style: 'ansi-f9 ansi-bold' }]);
    expect(pieces(`${ESC}[38;2;10;120;20;4mb`)).toEqual([
      { text: 'b', style: 'ansi-f2 ansi-underline' },
    ]);
    expect(pieces(`${ESC}[48;5;3mc`)).toEqual([{ text: 'c', style: 'ansi-b3' }]);
  });

  it('removes titles, links, cursor moves and incomplete sequences', () => {
    expect(
      shown(
        `a${ESC}]0;title\u0007b${ESC}]8;;http://evil.example${ESC}\\c${ESC}[2Jd${ESC}[10;20He${ESC}`,
      ),
    ).toBe('abcde');
    expect(shown(`a${ESC}[31`)).not.toContain(ESC);
  });

  it('shows what stands behind a string that has no end', () => {
    expect(shown(`a${ESC}]0;not a title, and the server is on fire`)).toBe(
      'a0;not a title, and the server is on fire',
    );
    expect(shown(`a${ESC}P${ESC}[31mred${ESC}]8;;x`)).toBe('ared8;;x');
    expect(withoutEscapes(`a${ESC}]0;x`)).toBe('a0;x');
  });

  it('makes controls visible, and those that turn text round', () => {
    expect(shown('a\u0000b\u0007c\u202ed')).toBe('a␀b␇c⟨202e⟩d');
    expect(shown('a\r\nb\tc')).toBe('a ⏎ b ⇥ c');
    expect(shown('a\r\nb\tc', true)).toBe('a\nb\tc');
  });

  it('never lets an escape or a control character through', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(ESC, '[', ']', 'm', ';', '3', '8', '5', '\u0007', '\u009b', '\\', '\n'),
        fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
      ),
    });
    fc.assert(
      fc.property(text, (any) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that must not be left
        expect(shown(any)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        for (const { style } of pieces(any)) expect(style).toMatch(/^[a-z0-9 -]*$/);
        expect(withoutEscapes(any)).not.toContain(ESC);
      }),
    );
  });
});

it('names have symbols for control characters and for what changes the direction of text', () => {
  expect(visible('a\u001b[31m\u202eb\u2066\u007f\u009b\n')).toBe('a␛[31m⟨202e⟩b⟨2066⟩␡⟨9b⟩␊');
  expect(visible('größe 😀 عربي/x')).toBe('größe 😀 عربي/x');
});
