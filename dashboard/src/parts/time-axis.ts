import type uPlot from 'uplot';
import { type Language, language } from '../texts/text.js';

const DAYS: Readonly<Record<Language, { whole: string; short: string }>> = {
  en: { whole: '{YYYY}-{MM}-{DD}', short: '{MM}-{DD}' },
  de: { whole: '{DD}.{MM}.{YYYY}', short: '{DD}.{MM}.' },
};

/** Labels of a time axis in the language of the page: with the day only where it changes, and hours to 24. */
export function timeLabels(): uPlot.Axis.Values {
  const { whole, short } = DAYS[language()];
  return [
    [3600 * 24, whole, null, null, null, null, null, null, 0],
    [3600, '{HH}:{mm}', short, null, short, null, null, null, 0],
    [60, '{HH}:{mm}', null, null, null, null, null, null, 0],
    [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 0],
  ];
}
