/** The first index in `from` to before `end` from which on `isAtOrAfter` is true, as in an ascending list; `end` when there is none. */
export function firstWhere(
  from: number,
  end: number,
  isAtOrAfter: (index: number) => boolean,
): number {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAtOrAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
