// Kinds whose files have changed since the service read them.

import type { Connection } from '../connection/connection.js';
import { complain } from '../terminal/action.js';

export function complainOfChange(kind: string): void {
  complain(`files of ${kind} have changed: drover kinds reload ${kind} makes bots start with them`);
}

/** Names each kind of these bots that has changed: they run the version that the service read at its start. */
export async function complainOfChanges(
  { client, call }: Connection,
  ids: readonly string[],
): Promise<void> {
  try {
    const { kinds } = await client.kinds(call());
    const changed = kinds.flatMap(({ kind, changed }) => (changed ? [kind] : []));
    if (changed.length === 0) return;
    const bots = await client.bots.list({ ...call(), kind: changed });
    const started = new Set(ids);
    const concerned = new Set(bots.flatMap(({ id, kind }) => (started.has(id) ? [kind] : [])));
    for (const kind of concerned) complainOfChange(kind);
  } catch {
    // The action has succeeded. The token may lack the scope `read`, or the service has gone since.
  }
}
