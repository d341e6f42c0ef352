import { numberText } from '../texts/text.js';
/** `950`, `1.5k`, `2M`. */
export function short(value: number, decimals = 1): string {
  if (value >= 1_000_000) return `${rounded(value / 1_000_000, decimals)}M`;
  if (value >= 1000) return `${rounded(value / 1000, decimals)}k`;
  return rounded(value, decimals);
}

function rounded(value: number, decimals: number): string {
  return numberText(Number(value.toFixed(decimals)));
}
