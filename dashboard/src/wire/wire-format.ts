// The formats in which a wire message can be read.

import { fixedText, t } from '../texts/text.js';

export const WIRE_FORMATS = ['text', 'json', 'hex'] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];

/** Bytes in a row of a hex dump. */
const ROW = 16;
/** A message that consists of such digits shows bytes, as kinds with binary protocols describe them. */
const HEX_DIGITS = /^(?:0x)?[0-9a-f]{2}(?:[ :]?[0-9a-f]{2})+$/i;

/** The JSON in a message, indented, with what is before it; undefined if it holds none. */
export function jsonOf(text: string): string | undefined {
  const starts = ['{', '['].map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
  for (const at of starts.sort((a, b) => a - b)) {
    try {
      const value: unknown = JSON.parse(text.slice(at));
      const before = text.slice(0, at).trimEnd();
      return `${before === '' ? '' : `${before}\n`}${JSON.stringify(value, null, 2)}`;
    } catch {
      // The other mark may begin it.
    }
  }
  return undefined;
}

/** The bytes of a message as a dump: offset, bytes, and what of them is printable ASCII. */
export function hexOf(text: string): string {
  const bytes = bytesOf(text);
  const rows: string[] = [];
  for (let at = 0; at < bytes.length; at += ROW) {
    const row = [...bytes.subarray(at, at + ROW)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const shown = row.map((byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.',
    );
    rows.push(
      `${at.toString(16).padStart(4, '0')}  ${digits.padEnd(ROW * 3 - 1)}  ${shown.join('')}`,
    );
  }
  return rows.join('\n');
}

/** Those that its hexadecimal digits say, else its text as UTF-8. */
function bytesOf(text: string): Uint8Array {
  const trimmed = text.trim();
  if (!HEX_DIGITS.test(trimmed)) return new TextEncoder().encode(text);
  const digits = trimmed.replace(/^0x/i, '').replace(/[ :]/g, '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) =>
    Number.parseInt(digits.slice(at * 2, at * 2 + 2), 16),
  );
}

/** How long a reply took. */
export function tookText(ms: number): string {
  if (ms < 1000) return t('time.ms', { n: Math.max(0, ms) });
  return t('time.seconds', { n: ms < 60_000 ? fixedText(ms / 1000, 1) : Math.round(ms / 1000) });
}
