// Splits the text of a log line into styled pieces: ANSI colours become classes, other escapes are removed, and control
// characters become visible symbols. The output goes into text nodes only: log text is never markup.

import { ESCAPES, symbolOf } from '../../../src/shared/contract/escapes.js';

export interface Piece {
  text: string;
  /** Class names, '' for plain text. */
  style: string;
}

interface Style {
  fore: string;
  back: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
}

const PLAIN: Style = {
  fore: '',
  back: '',
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to replace
const CONTROL = /\r\n?|\n|\t|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const HAS_SPECIAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to replace
  /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** @param isWrapped keeps line breaks and tabs; otherwise they become symbols too. */
export function pieces(text: string, isWrapped = false): Piece[] {
  if (!HAS_SPECIAL.test(text)) return [{ text, style: '' }];
  const found: Piece[] = [];
  let style: Style = { ...PLAIN };
  let from = 0;
  const add = (part: string): void => {
    if (part === '') return;
    found.push({
      text: part.replace(CONTROL, (sign) => shown(sign, isWrapped)),
      style: classesOf(style),
    });
  };
  for (const match of text.matchAll(ESCAPES)) {
    add(text.slice(from, match.index));
    from = match.index + match[0].length;
    const final = match[2] ?? match[4];
    if (final === 'm') style = applySgr(style, match[1] ?? match[3] ?? '');
  }
  add(text.slice(from));
  return found;
}

function shown(sign: string, isWrapped: boolean): string {
  if (sign === '\n' || sign.startsWith('\r')) return isWrapped && sign !== '\r' ? '\n' : ' ⏎ ';
  if (sign === '\t') return isWrapped ? '\t' : ' ⇥ ';
  return symbolOf(sign);
}

/** Applies the parameters of an SGR sequence (ECMA-48). */
function applySgr(before: Style, parameters: string): Style {
  const style = { ...before };
  const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(at + 1));
      if (code === 38) style.fore = colour;
      else style.back = colour;
      at += used;
    } else {
      applyCode(style, code);
    }
  }
  return style;
}

function applyCode(style: Style, code: number): void {
  if (code === 0) Object.assign(style, PLAIN);
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4) style.underline = true;
  else if (code === 9) style.strike = true;
  else if (code === 22) style.bold = style.dim = false;
  else if (code === 23) style.italic = false;
  else if (code === 24) style.underline = false;
  else if (code === 29) style.strike = false;
  else if (code >= 30 && code <= 37) style.fore = String(code - 30);
  else if (code === 39) style.fore = '';
  else if (code >= 40 && code <= 47) style.back = String(code - 40);
  else if (code === 49) style.back = '';
  else if (code >= 90 && code <= 97) style.fore = String(code - 82);
  else if (code >= 100 && code <= 107) style.back = String(code - 92);
}

/** Maps 256-colour and true-colour codes to the nearest of the 16 colours, which follow the page's theme. */
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

function classesOf(style: Style): string {
  const names: string[] = [];
  if (style.fore !== '') names.push(`ansi-f${style.fore}`);
  if (style.back !== '') names.push(`ansi-b${style.back}`);
  for (const name of ['bold', 'dim', 'italic', 'underline', 'strike'] as const) {
    if (style[name]) names.push(`ansi-${name}`);
  }
  return names.join(' ');
}
