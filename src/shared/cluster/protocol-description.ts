// In main and in the bus thread. What the description of each stream and bucket of a cluster says, so that no node takes one of another
// version, or of another program, for its own.

import { StartupError } from '../errors.js';
import { VERSION } from '../version.js';
import { PROTOCOL } from './names.js';

export const DESCRIPTION = `drover protocol ${PROTOCOL}`;

/** @param what the stream or bucket, by its name. @throws StartupError */
export function expectProtocol(what: string, description: string | undefined): void {
  if (description === DESCRIPTION) return;
  const [, found] = /^drover protocol (\d+)$/.exec(description ?? '') ?? [];
  throw new StartupError(
    found === undefined
      ? `${what} was not made by Drover: delete it, or give the cluster another name (cluster.name)`
      : `${what} has version ${found}; Drover ${VERSION} knows version ${PROTOCOL}`,
  );
}
