import { call, type ServiceApi } from './api.js';
import { act, statusFrom } from './bots.js';
import type { SseStream } from './sse.js';

/** Response of `GET /api/pressure`, without the journal. */
export interface PressureReport {
  running: number;
  capacity: number;
  short: string[];
  cpu: { used: number; limit: number };
  memory: { used_bytes: number; limit_bytes: number };
  streams: { open: number; limit: number };
  queue: { used: number; limit: number };
  bots: { present: number; limit: number };
}

export async function getPressure(
  service: ServiceApi,
): Promise<{ status: number; report: PressureReport }> {
  const { status, json } = await call(service, 'GET', '/api/pressure');
  return { status, report: json as PressureReport };
}

/** Status and message of an attempt to open a stream. */
export async function streamRefusal(
  service: ServiceApi,
): Promise<{ status: number; error: string | undefined }> {
  const response = await service.open('/events', {
    authorization: `Bearer ${await service.token()}`,
  });
  const status = response.statusCode ?? 0;
  if (status === 200) {
    response.destroy();
    return { status, error: undefined };
  }
  const body = JSON.parse(Buffer.concat(await response.toArray()).toString()) as { error: string };
  return { status, error: body.error };
}

/** Restarts the bot `id`: it passes through its states, and the open stream receives each of them. */
export async function expectLifecycle(
  service: ServiceApi,
  stream: SseStream,
  id: string,
): Promise<void> {
  const from = stream.frames.length;
  await act(service, id, 'restart');
  await statusFrom(stream, from, id, 'stopped');
  await statusFrom(stream, from, id, 'running');
}
