// How long clients are told to wait before they reconnect: the longer, the more streams are open in the whole service.

import { expect, it, onTestFinished } from 'vitest';
import { inject } from '../harness/inject.js';
import { streamOn } from '../harness/sse.js';

const STREAMS = 16;

it('the clients of a full service are told to come back at the configured rate', async () => {
  // Two fronts: what counts is the streams of both.
  const service = await inject({
    fronts: 2,
    config: { stream: { retry_ms: 0, returns_per_second: 1 } },
  });
  onTestFinished(() => service.close());
  const token = await service.token();
  const waits: number[] = [];
  for (let open = 1; open <= STREAMS; open++) {
    const stream = await streamOn(service, '/events', { token });
    onTestFinished(() => stream.close());
    await stream.until(() => stream.retry !== undefined);
    const wait = stream.retry as number;
    // One a second, and this stream is one of them.
    expect(wait).toBeLessThanOrEqual(open * 1000);
    waits.push(wait);
  }
  // With a spread that does not grow, all would be below 1 s. That happens by chance once in 10^13 runs.
  expect(Math.max(...waits)).toBeGreaterThan(1000);
});
