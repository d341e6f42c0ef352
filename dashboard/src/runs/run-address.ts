// Runs in tabs. The address of a run, `#/runs/<name>?part=`: the rest is that of the views.

import { changeQuery, hrefTo, route } from '../model/route.js';

export const PARTS = ['log', 'herd', 'problems', 'expectations'] as const;
export type RunPart = (typeof PARTS)[number];

/** The part of the run that is shown. */
export function shownPart(): RunPart {
  return PARTS.find((one) => one === route.value.query.get('part')) ?? 'log';
}

export function showPart(part: RunPart): void {
  changeQuery({ part, cause: '' });
}

export function hrefOfRun(name: string): string {
  return hrefTo('runs', name);
}
