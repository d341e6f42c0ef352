// An alert is an event of the stream, made by the thread of the rules.

import { expect, it } from 'vitest';
import type { AlertEvent } from '../../../src/shared/contract/rules.js';
import { call } from '../../harness/api.js';
import { watch } from '../../harness/bots.js';
import type { Service } from '../../harness/service.js';
import { streamOn } from '../../harness/sse.js';

export function alertTests(given: () => Service): void {
  it('an alert is on the stream when a rule fires and stops, and a stream resumes over it', async () => {
    const service = given();
    const token = await service.token();
    const alerts = '?event=alert';
    const stream = await watch(service, alerts);
    const body = { name: 'it talks', query: 'bot:talker', condition: 'count', window_ms: 60_000 };
    const made = await call(service, 'POST', '/api/rules', { body: { ...body, threshold: 5 } });
    expect(made.status, made.text).toBe(201);
    const { id } = made.json as { id: string };
    await stream
      .until(() => stream.frames.length === 1)
      .catch(async (thrown: Error) => {
        const { text } = await call(service, 'GET', '/api/rules');
        throw new Error(`${thrown.message}\n${text}\n${service.stdout().slice(-4000)}`);
      });
    const [fires] = stream.frames;
    expect(fires).toMatchObject({ event: 'alert', id: expect.stringMatching(/^[0-9a-f]+-\d+$/) });
    const alert = fires?.json as AlertEvent;
    expect(alert).toMatchObject({ state: 'firing', rule: { id }, bots: ['talker'] });
    expect(alert.value).toBeGreaterThanOrEqual(5);
    expect((await call(service, 'DELETE', `/api/rules/${id}`)).status).toBe(204);
    await stream.until(() => stream.frames.length === 2);
    stream.close();
    const headers = { 'Last-Event-ID': fires?.id ?? '' };
    const resumed = await streamOn(service, `/events${alerts}`, { token, headers });
    await resumed.until(() => resumed.frames.length === 1);
    expect(resumed.frames[0]).toEqual(stream.frames[1]);
    expect(resumed.frames[0]?.json).toMatchObject({ state: 'resolved', since_ms: alert.since_ms });
    resumed.close();
    const past = await call(service, 'GET', '/api/events?query=event:alert');
    expect((past.json as { events: { id: string }[] }).events.map((event) => event.id)).toEqual([
      stream.frames[1]?.id,
      fires?.id,
    ]);
  });
}
