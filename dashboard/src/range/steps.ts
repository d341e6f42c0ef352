/** Lengths of bars, in s. */
const STEPS = [
  1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
  604_800,
];

/** The shortest length of a bar, in s, with which a range has so many at most. */
export function stepFor(lengthMs: number, most: number): number {
  return STEPS.find((step) => lengthMs / 1000 / step <= most) ?? (STEPS.at(-1) as number);
}
