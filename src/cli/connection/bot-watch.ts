import type { BotSnapshot, DroverClient, StreamState } from '../../client/index.js';
import { fitsQuery } from './event-selection.js';

/**
 * The snapshots of these bots: first as they are now, then each change, until the signal ends it. Each id must be known.
 * @throws ApiError
 */
export async function* watchBots(
  client: DroverClient,
  ids: ReadonlySet<string>,
  options: { signal: AbortSignal; onState: (state: StreamState) => void },
): AsyncGenerator<BotSnapshot> {
  const session = fitsQuery(ids) ? [...ids] : undefined;
  for await (const event of client.stream({ session, event: ['session'], ...options })) {
    if (event.event === 'session' && ids.has(event.data.snapshot.id)) yield event.data.snapshot;
  }
}
