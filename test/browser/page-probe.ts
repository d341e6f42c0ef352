import type { CDPSession, Page } from 'playwright-core';

/** Counts frames and long tasks in the page. */
export const PROBE = `
  globalThis.probe = { frames: 0, longest: 0, long: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      probe.long += 1;
      probe.longest = Math.max(probe.longest, duration);
    }
  }).observe({ type: 'longtask' });
  (function frame() { probe.frames += 1; requestAnimationFrame(frame); })();
`;

export type Measured = Probe & { fps: number };

interface Probe {
  frames: number;
  /** The longest task, in ms; 0 when none was longer than 50 ms. */
  longest: number;
  long: number;
}

/** In bytes. */
export async function heapOf(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  return usedSize;
}

/** Share of a core that the page's main thread uses while the task runs: says more than frames where the machine is busy. */
export async function cpuDuring(cdp: CDPSession, task: () => Promise<void>): Promise<number> {
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async (): Promise<number> => {
    const { metrics } = await cdp.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  const [began, before] = [performance.now(), await read()];
  await task();
  const share = (await read()) - before;
  await cdp.send('Performance.disable');
  return share / ((performance.now() - began) / 1000);
}

/** Measures the page while the task runs. */
export async function during(page: Page, task: () => Promise<void>): Promise<Measured> {
  await page.evaluate(
    'Object.assign(probe, { frames: 0, longest: 0, long: 0, since: performance.now() })',
  );
  await task();
  // By the clock of the page: a question to it takes some frames where the machine is busy.
  const { seconds, ...probe } = await page.evaluate<Probe & { seconds: number }>(
    '({ ...probe, seconds: (performance.now() - probe.since) / 1000 })',
  );
  return { ...probe, fps: probe.frames / seconds };
}

export function worstOf(all: readonly Measured[]): Measured {
  return {
    frames: Math.min(...all.map(({ frames }) => frames)),
    fps: Math.min(...all.map(({ fps }) => fps)),
    long: Math.max(...all.map(({ long }) => long)),
    longest: Math.max(...all.map(({ longest }) => longest)),
  };
}
