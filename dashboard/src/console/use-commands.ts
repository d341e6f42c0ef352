import { useEffect, useMemo } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { kinds, loadKinds } from '../model/kinds.js';
import type { Commands } from './parse-line.js';

/** The commands of a bot; undefined while its kind is not loaded. */
export function useCommands({
  id,
  kind,
  started_at_ms: at,
  status,
}: BotSnapshot): Commands | undefined {
  const isStarting = status === 'starting';
  // Another run, or one that has started, may have other commands.
  useEffect(loadKinds, [id, at, isStarting]);
  const commands = kinds.value.find((one) => one.kind === kind)?.commands;
  return useMemo(() => commands as Commands | undefined, [commands]);
}
