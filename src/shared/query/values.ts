import type { Value } from './term.js';

/** Whether a text is this value. Takes time proportional to the text for each part of the value. */
export function isValue(value: Value, text: string): boolean {
  const [first = '', ...rest] = value;
  if (rest.length === 0) return text === first;
  const last = rest.pop() as string;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  // The leftmost place of each part leaves most room for the others.
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}

/** `*` matches any text that is not empty. */
export function isAny(value: Value): boolean {
  return value.length > 1 && value.every((part) => part === '');
}

/** The text of a value without wildcards. */
export function literal(value: Value): string | undefined {
  return value.length === 1 ? value[0] : undefined;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d{1,3})?$/i;

/** @returns NaN when the text is no number. */
export function numberOf(text: string): number {
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

const AGE = /^(\d+(?:\.\d+)?)(s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A duration like `10m` in ms; NaN when the text is none. */
export function ageOf(text: string): number {
  const [, count = '', unit = ''] = AGE.exec(text) ?? [];
  return count === '' ? Number.NaN : Number(count) * (UNIT_MS[unit] as number);
}

/** A label to have: any value, or one like this. */
export interface WantedLabel {
  name: string;
  value: Value;
}

/** @returns undefined when its name has a wildcard or is missing. */
export function labelOf(value: Value): WantedLabel | undefined {
  const [first = '', ...rest] = value;
  const at = first.indexOf('=');
  if (at > 0) return { name: first.slice(0, at), value: [first.slice(at + 1), ...rest] };
  return at === 0 || first === '' || rest.length > 0 ? undefined : { name: first, value: ['', ''] };
}
