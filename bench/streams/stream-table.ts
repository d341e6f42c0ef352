// The table of one stream load, one row per contender.

import { type Measurements, series } from '../harness/rounds.js';
import { median } from '../harness/stats.js';
import { number, percent, type Table, whole } from '../harness/table.js';
import type { StreamMeasurement } from './measurement.js';

export function streamTable(
  title: string,
  measured: Measurements<StreamMeasurement>,
  notes: readonly string[] = [],
): Table {
  const rows = [...measured].map(([name, measurements]) => {
    const middle = (pick: (one: StreamMeasurement) => number) =>
      median(series(measured, name, pick));
    const limited = measurements.filter((one) => one.loadAtItsLimit).length;
    return [
      name,
      whole(middle((one) => one.framesPerS)),
      percent(middle((one) => one.shareOfOffer)),
      whole(middle((one) => one.framesPerCpuS)),
      whole(middle((one) => one.megabytesPerCpuS)),
      number(middle((one) => one.cpuUsPerFrame)),
      number(middle((one) => one.framesPerWrite)),
      number(middle((one) => one.p50Ms)),
      number(middle((one) => one.p99Ms)),
      percent(middle((one) => one.serverCores)),
      percent(middle((one) => one.serverWait)),
      percent(middle((one) => one.loadCpu)),
      `${limited} of ${measurements.length}`,
    ];
  });
  const everLimited = [...measured.values()].flat().some((one) => one.loadAtItsLimit);
  return {
    title,
    header: [
      'medians',
      'frames/s',
      'of offer',
      'frames/CPU s',
      'MB/CPU s',
      'CPU µs/frame',
      'frames/write',
      'p50 ms',
      'p99 ms',
      'server CPU',
      'server waits',
      'load CPU',
      'load at limit',
    ],
    rows,
    notes: [
      ...notes,
      ...(everLimited
        ? ['Where the load is at its limit, frames/s and latencies are its own, not the server’s.']
        : []),
    ],
  };
}
