import type { BotSnapshot, DroverClient, StreamState } from '../../client/index.js';

/** Most ids in a request: the service accepts as many values, and URLs of 8 KiB. More are selected here. */
const MAX_IDS = 1000;
const MAX_ID_UNITS = 4096;

/**
 * The snapshots of these bots: first as they are now, then each change, until the signal ends it. Each id must be known.
 * @throws ApiError
 */
export async function* watchBots(
  client: DroverClient,
  ids: ReadonlySet<string>,
  options: { signal: AbortSignal; onState: (state: StreamState) => void },
): AsyncGenerator<BotSnapshot> {
  const fits = ids.size <= MAX_IDS && [...ids].join().length <= MAX_ID_UNITS;
  const session = fits ? [...ids] : undefined;
  for await (const event of client.stream({ session, event: ['session'], ...options })) {
    if (event.event === 'session' && ids.has(event.data.snapshot.id)) yield event.data.snapshot;
  }
}
