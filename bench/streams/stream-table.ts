// The table of one stream load, one row per contender.

import { contenderTable, medianOf, shareOf } from '../harness/bench.js';
import type { Measurements } from '../harness/rounds.js';
import { percent, type Table, whole } from '../harness/table.js';
import type { StreamMeasurement } from './measurement.js';

export function streamTable(
  title: string,
  measured: Measurements<StreamMeasurement>,
  notes: readonly string[] = [],
): Table {
  const everLimited = [...measured.values()].flat().some((one) => one.loadAtItsLimit);
  return contenderTable(
    title,
    measured,
    [
      ['frames/s', medianOf((one) => one.framesPerS, whole)],
      ['of offer', medianOf((one) => one.shareOfOffer, percent)],
      ['frames/CPU s', medianOf((one) => one.framesPerCpuS, whole)],
      ['MB/CPU s', medianOf((one) => one.megabytesPerCpuS, whole)],
      ['CPU µs/frame', medianOf((one) => one.cpuUsPerFrame)],
      ['frames/write', medianOf((one) => one.framesPerWrite)],
      ['p50 ms', medianOf((one) => one.p50Ms)],
      ['p99 ms', medianOf((one) => one.p99Ms)],
      ['server CPU', medianOf((one) => one.serverCores, percent)],
      ['server waits', medianOf((one) => one.serverWait, percent)],
      ['load CPU', medianOf((one) => one.loadCpu, percent)],
      ['load at limit', shareOf((one) => one.loadAtItsLimit)],
    ],
    [
      ...notes,
      ...(everLimited
        ? ['Where the load is at its limit, frames/s and latencies are its own, not the server’s.']
        : []),
    ],
  );
}
