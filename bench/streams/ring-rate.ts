// Counts what reaches the ring while a bot writes flat out.

import { setTimeout as delay } from 'node:timers/promises';
import type { Drover } from '../harness/drover.js';
import type { CpuUse } from '../harness/os-accounting.js';
import { Probe, type Probed } from './probe.js';

const SETTLE_MS = 250;
const ANSWER_WITHIN_MS = 10_000;
const SKIPPED = /^(\d+) info lines were skipped/;

export interface RingRate {
  /** Events in the ring, by the ids of two events that a filter lets pass. */
  perS: number;
  /** Lines skipped because too many bytes were in flight, from the bot's start on. */
  skippedPerS: number;
  cpuUsPerEvent: number;
  /** Of the service, while it was measured. */
  use: CpuUse;
}

/** @param during lasts for as long as is measured. */
export async function ringRate(
  drover: Drover,
  bot: { start(): Promise<unknown>; stop(): Promise<unknown> },
  during: () => Promise<void>,
): Promise<RingRate> {
  const { server } = drover;
  const open = (filter: string) =>
    Probe.open(server.url, `/events?snapshot=0&${filter}`, drover.authorization);
  const [pings, warnings] = await Promise.all([open('scope=dispatch'), open('level=warn')]);
  try {
    const began = performance.now();
    await bot.start();
    await delay(SETTLE_MS);
    const from = await position(drover, pings);
    const { result: to, use } = await server.cpuDuring(async () => {
      await during();
      return position(drover, pings);
    });
    const lastedS = (performance.now() - began) / 1000;
    await bot.stop();
    await delay(SETTLE_MS);
    const events = to.seq - from.seq;
    return {
      perS: events / ((to.at - from.at) / 1000),
      skippedPerS: skipped(warnings) / lastedS,
      cpuUsPerEvent: use.cpuNs / 1000 / events,
      use,
    };
  } finally {
    pings.close();
    warnings.close();
  }
}

/** The current position: the id of an event created for this. */
async function position(drover: Drover, pings: Probe): Promise<Probed> {
  const next = pings.next(ANSWER_WITHIN_MS);
  await drover.ping();
  return next;
}

/** Lines that the warnings say were skipped. */
function skipped(warnings: Probe): number {
  let sum = 0;
  for (const { message } of warnings.events) {
    const { message: text } = JSON.parse(message.data) as { message?: string };
    sum += Number(SKIPPED.exec(text ?? '')?.[1] ?? 0);
  }
  return sum;
}
