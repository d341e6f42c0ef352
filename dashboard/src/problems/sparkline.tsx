/** Bars of counts over time, drawn to the same width. The numbers are in the text beside it. */
export function Sparkline({ counts, name }: { counts: readonly number[]; name: string }) {
  const most = Math.max(1, ...counts);
  const bar = (count: number): number => (count === 0 ? 0 : Math.max(1.5, (count / most) * 20));
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${Math.max(1, counts.length)} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={name}
    >
      {counts.map((count, at) =>
        count === 0 ? null : (
          <rect key={at} x={at + 0.1} y={20 - bar(count)} width={0.8} height={bar(count)} />
        ),
      )}
    </svg>
  );
}
