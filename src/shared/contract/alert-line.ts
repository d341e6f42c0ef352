// The text of an alert in the log, and what a program reads from it: in a cluster, a line is what other nodes see of an alert.

import type { AlertEvent } from './rules.js';

/** What a line says of a rule that fires. */
export interface FiringLine {
  rule: Pick<AlertEvent['rule'], 'name' | 'condition' | 'threshold' | 'window_ms'>;
  value: number;
  bots: string[];
}

/** An alert as a line of the log. */
export function alertLine({
  state,
  rule,
  since_ms,
  timestamp_ms,
  value,
  bots,
}: AlertEvent): string {
  const name = `rule ${JSON.stringify(rule.name)}`;
  if (state === 'resolved') {
    return `${name} is over after ${seconds(timestamp_ms - since_ms)}`;
  }
  const named = bots.length === 0 ? '' : `: ${bots.join(', ')}`;
  return `${name} fires: ${found(rule, value ?? 0)}${named}`;
}

function found({ condition, threshold, window_ms: window }: AlertEvent['rule'], value: number) {
  const limit = `at least ${threshold}`;
  switch (condition) {
    case 'count':
      return `${value} ${value === 1 ? 'line' : 'lines'} in ${seconds(window ?? 0)}, ${limit}`;
    case 'rate':
      return `${value} lines/s over ${seconds(window ?? 0)}, ${limit}`;
    case 'absence':
      return `no line for ${value} s`;
    case 'bots':
      return `${value} ${value === 1 ? 'bot' : 'bots'}, ${limit}`;
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

const FIRES = /^rule ("(?:[^"\\]|\\.)*") fires: (.*)$/;
const BOTS = '(?:: (?<bots>.+))?$';
const LIMIT = ', at least (?<threshold>[\\d.e+-]+)';
const VALUE = '(?<value>[\\d.e+-]+)';
const FOUND = {
  count: new RegExp(`^${VALUE} lines? in (?<window>\\d+) s${LIMIT}${BOTS}`),
  rate: new RegExp(`^${VALUE} lines/s over (?<window>\\d+) s${LIMIT}${BOTS}`),
  absence: new RegExp(`^no line for ${VALUE} s${BOTS}`),
  bots: new RegExp(`^${VALUE} bots?${LIMIT}${BOTS}`),
} as const;

/** Whether a line says that a rule fires. */
export function saysFiring(line: string): boolean {
  return FIRES.test(line);
}

/** @returns undefined for every other line, and for the one of a service that words it differently. */
export function readFiringLine(line: string): FiringLine | undefined {
  const [, name = '', what = ''] = FIRES.exec(line) ?? [];
  for (const condition of Object.keys(FOUND) as (keyof typeof FOUND)[]) {
    const groups = FOUND[condition].exec(what)?.groups;
    if (!groups) continue;
    const { threshold, window } = groups;
    return {
      rule: {
        name: JSON.parse(name) as string,
        condition,
        threshold: threshold === undefined ? null : Number(threshold),
        window_ms: window === undefined ? null : Number(window) * 1000,
      },
      value: Number(groups['value']),
      bots: groups['bots']?.split(', ') ?? [],
    };
  }
  return undefined;
}
