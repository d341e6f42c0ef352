// Compares documented output with real output: ids, times and numbers may differ, the structure may not.

import { expect } from 'vitest';

/** @throws AssertionError when `actual` does not match `documented`, in which `…` matches anything. */
export function expectLooksLike(actual: string, documented: string): void {
  const shown = parsed(documented);
  if (shown !== undefined) {
    const got = parsed(actual);
    expect(got, `no JSON: ${actual}`).toBeDefined();
    expect(alike(got, shown), `${actual}\nis documented as\n${documented}`).toBe(true);
    return;
  }
  for (const line of documented.trimEnd().split('\n')) {
    const pieces = line.split('…').map((piece) => begun(numberless(escaped(piece))));
    expect(actual, `documented: ${line}`).toMatch(new RegExp(`^${pieces.join('.*')}$`, 'm'));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Statuses of a bot that was just created: which of them it has depends on the moment. */
const BEGUN = new Set(['starting', 'running']);

/** In a pattern: of a bot that was just created. */
const BEGINS = '"status":"starting"';

/** The same fields with the same types. Null matches any type. Texts are equal except for ids and digits. */
function alike(a: unknown, b: unknown): boolean {
  if (a === null || b === null) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return b.length === 0 || (a.length > 0 && alike(a[0], b[0]));
  if (typeof a === 'object' && typeof b === 'object') {
    const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
    const names = Object.keys(right);
    return (
      String(Object.keys(left).sort()) === String([...names].sort()) &&
      names.every((name) => alike(left[name], right[name]))
    );
  }
  if (typeof a === 'string' && typeof b === 'string') {
    return b === '…' || isRandom(b) || a === b || (BEGUN.has(a) && BEGUN.has(b));
  }
  return typeof a === typeof b;
}

/** Tokens, tickets and event ids. */
function isRandom(text: string): boolean {
  return /^[A-Za-z0-9+/=-]{32,}$|^[0-9a-f]{10}-\d+$/.test(text);
}

function begun(pattern: string): string {
  return pattern.replace(BEGINS, '"status":"\\w+"');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Also without the digits of versions, and of ids of events and operations. */
function numberless(pattern: string): string {
  const digits = /\b0[0-9a-z]{8}-[0-9a-f]{8}\b|\b[0-9a-f]{10}-\d+|\b[0-9a-f]{8}\b|\d+(\\\.\d+)*/g;
  return pattern.replace(digits, (found) => {
    if (found.startsWith('0') && found.length === 18) return '0[0-9a-z]{8}-[0-9a-f]{8}';
    if (found.includes('-')) return '[0-9a-f]+-\\d+';
    return /^[0-9a-f]{8}$/.test(found) ? '[0-9a-f]{8}' : '[\\d.]+';
  });
}
