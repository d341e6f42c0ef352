// Pure. Owns how the text of a line is cut into pieces: colours of ANSI escapes become classes, every other escape goes, and
// control characters become signs that can be seen. The result is text for text nodes: nothing in a line is ever markup.

import { ESCAPES } from '../../../src/shared/contract/escapes.js';

export interface Piece {
  text: string;
  /** Class names, '' for plain text. */
  look: string;
}

interface Look {
  fore: string;
  back: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
}

const PLAIN: Look = {
  fore: '',
  back: '',
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /\r\n?|\n|\t|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const HAS_SPECIAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** @param isWrapped line ends and tabs stay what they are; otherwise they become signs. */
export function pieces(text: string, isWrapped = false): Piece[] {
  if (!HAS_SPECIAL.test(text)) return [{ text, look: '' }];
  const found: Piece[] = [];
  let look: Look = { ...PLAIN };
  let from = 0;
  const add = (part: string): void => {
    if (part === '') return;
    found.push({
      text: part.replace(CONTROL, (sign) => shown(sign, isWrapped)),
      look: classesOf(look),
    });
  };
  for (const match of text.matchAll(ESCAPES)) {
    add(text.slice(from, match.index));
    from = match.index + match[0].length;
    const final = match[2] ?? match[4];
    if (final === 'm') look = dress(look, match[1] ?? match[3] ?? '');
  }
  add(text.slice(from));
  return found;
}

function shown(sign: string, isWrapped: boolean): string {
  if (sign === '\n' || sign.startsWith('\r')) return isWrapped && sign !== '\r' ? '\n' : ' ⏎ ';
  if (sign === '\t') return isWrapped ? '\t' : ' ⇥ ';
  const code = sign.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '␡';
  // C1 controls, and those that turn the direction of what follows.
  return `⟨${code.toString(16)}⟩`;
}

function dress(before: Look, parameters: string): Look {
  const look = { ...before };
  const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(at + 1));
      if (code === 38) look.fore = colour;
      else look.back = colour;
      at += used;
    } else {
      dressOne(look, code);
    }
  }
  return look;
}

function dressOne(look: Look, code: number): void {
  if (code === 0) Object.assign(look, PLAIN);
  else if (code === 1) look.bold = true;
  else if (code === 2) look.dim = true;
  else if (code === 3) look.italic = true;
  else if (code === 4) look.underline = true;
  else if (code === 9) look.strike = true;
  else if (code === 22) look.bold = look.dim = false;
  else if (code === 23) look.italic = false;
  else if (code === 24) look.underline = false;
  else if (code === 29) look.strike = false;
  else if (code >= 30 && code <= 37) look.fore = String(code - 30);
  else if (code === 39) look.fore = '';
  else if (code >= 40 && code <= 47) look.back = String(code - 40);
  else if (code === 49) look.back = '';
  else if (code >= 90 && code <= 97) look.fore = String(code - 82);
  else if (code >= 100 && code <= 107) look.back = String(code - 92);
}

/** The 256 colours and the true ones, as the nearest of the sixteen that fit the page's theme. */
function extended(codes: readonly number[]): [colour: string, used: number] {
  const [mode, first = 0, second = 0, third = 0] = codes;
  if (mode === 2) return [nearest(first, second, third), 4];
  if (mode !== 5) return ['', 1];
  if (first < 16) return [String(first), 2];
  if (first >= 232) return [nearest((first - 232) * 10, (first - 232) * 10, (first - 232) * 10), 2];
  const cube = first - 16;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  return [
    nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)),
    2,
  ];
}

function nearest(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  if (most < 50) return '0';
  const least = Math.min(red, green, blue);
  const isGrey = most - least < 40;
  if (isGrey) return most > 200 ? '15' : most > 120 ? '7' : '8';
  const bit = (value: number): number => (value > most * 0.6 ? 1 : 0);
  const base = bit(red) + bit(green) * 2 + bit(blue) * 4;
  return String(base + (most > 190 ? 8 : 0));
}

function classesOf(look: Look): string {
  const names: string[] = [];
  if (look.fore !== '') names.push(`ansi-f${look.fore}`);
  if (look.back !== '') names.push(`ansi-b${look.back}`);
  for (const name of ['bold', 'dim', 'italic', 'underline', 'strike'] as const) {
    if (look[name]) names.push(`ansi-${name}`);
  }
  return names.join(' ');
}
