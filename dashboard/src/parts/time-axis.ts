import type uPlot from 'uplot';

const SHORT_DAY = '{MM}-{DD}';

/** Labels of a time axis: with the day only where it changes, and hours to 24. */
export const TIME_LABELS: uPlot.Axis.Values = [
  [3600 * 24, `{YYYY}-${SHORT_DAY}`, null, null, null, null, null, null, 0],
  [3600, '{HH}:{mm}', SHORT_DAY, null, SHORT_DAY, null, null, null, 0],
  [60, '{HH}:{mm}', null, null, null, null, null, null, 0],
  [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 0],
];
