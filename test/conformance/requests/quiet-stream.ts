// docs/INTERFACE.md §4 GET /events: a stream on which nothing happens.

import { expect, it, onTestFinished } from 'vitest';
import { call } from '../../harness/api.js';
import type { Service } from '../../harness/service.js';
import { snapshotOf, waitForLog } from '../../harness/shapes.js';
import { openStream } from '../../harness/sse.js';

/** The first to use the token: what others do is seen on the stream. */
export function quietStreamTests(given: () => Service): void {
  it('§4 the connection stays open while nothing happens, and the client sends nothing', async () => {
    const service = given();
    const events = async (scope: string): Promise<unknown[]> =>
      ((await call(service, 'GET', `/api/events?scope=${scope}`)).json as { events: unknown[] })
        .events;
    const bot = async (): Promise<unknown> => (await call(service, 'GET', '/api/bots/only')).json;
    await expect.poll(bot).toMatchObject({ status: 'running' });
    // The stream also has a line about its new token, which may come a little later than the token.
    await expect.poll(() => events('auth')).not.toEqual([]);
    const stream = await openStream(`${service.url}/events`, { token: await service.token() });
    onTestFinished(() => stream.close());
    await stream.until(() => stream.comments.length >= 10);
    expect(stream.isOver).toBe(false);
    // Its first frames, and none after them.
    expect(stream.frames.map((frame) => snapshotOf(frame)?.id)).toEqual(['only']);
    expect(stream.faults).toEqual([]);
    await call(service, 'POST', '/invoke', {
      body: { session_id: null, command: 'ping', args: {} },
    });
    await waitForLog(stream, (log) => log.scope === 'dispatch');
    // The tests after this one compare lists: the journal has the last line.
    await expect.poll(() => events('dispatch')).toHaveLength(1);
  });
}
