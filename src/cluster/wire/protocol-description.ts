// In main and in the bus thread. What the description of each stream and bucket of a cluster says, so that no node takes one of another
// version, or of another program, for its own.

import { StartupError } from '../../shared/errors.js';
import { VERSION } from '../../shared/version.js';
import { PROTOCOL, READABLE } from './names.js';
import type { JetStreamManager, StreamInfo } from './nats.js';

export const DESCRIPTION = `drover protocol ${PROTOCOL}`;

/**
 * Checks that this release reads what is stored there. Raises the version that the description says to the one that this release writes:
 * nodes that do not read it are refused from then on.
 * @param what the stream or bucket, by its name. @throws StartupError; an error of JetStream.
 */
export async function agreeOnProtocol(
  manager: JetStreamManager,
  what: string,
  { config }: Pick<StreamInfo, 'config'>,
): Promise<void> {
  const found = versionOf(what, config.description);
  if (found > READABLE) {
    const known = READABLE === 1 ? 'version 1' : `versions 1 to ${READABLE}`;
    throw new StartupError(
      `${what} has version ${found}; Drover ${VERSION} knows ${known}: update this node`,
    );
  }
  if (found < PROTOCOL) await manager.streams.update(config.name, { description: DESCRIPTION });
}

function versionOf(what: string, description: string | undefined): number {
  const [, found] = /^drover protocol (\d+)$/.exec(description ?? '') ?? [];
  if (found !== undefined) return Number(found);
  throw new StartupError(
    `${what} was not made by Drover: delete it, or give the cluster another name (cluster.name)`,
  );
}
