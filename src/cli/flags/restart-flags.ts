// The flags that set a bot's restart policy.

import { type Command, Option } from 'commander';
import type { RestartPolicy } from '../../client/index.js';
import { timeSpan, wholeNumber } from './flag-values.js';

export interface RestartFlags {
  restart?: RestartPolicy['policy'];
  maxRestarts?: number | null;
  window?: number;
  backoff?: number;
  backoffCap?: number;
  healthyAfter?: number;
}

const POLICIES: readonly RestartPolicy['policy'][] = ['always', 'on-failure', 'never'];

const NO_LIMIT = 'none';

export function withRestartFlags(command: Command): Command {
  const time = (flags: string, what: string): Option => new Option(flags, what).argParser(timeSpan);
  return command
    .addOption(
      new Option('--restart <policy>', 'when to restart the bot after it exits').choices(POLICIES),
    )
    .option(
      '--max-restarts <n>',
      `maximum restarts within the window, after which the bot fails; ${NO_LIMIT} for no limit`,
      (text) => (text === NO_LIMIT ? null : wholeNumber(text)),
    )
    .addOption(time('--window <time>', 'length of the window of --max-restarts'))
    .addOption(
      time(
        '--backoff <time>',
        'longest wait before the first restart; doubled for each further one',
      ),
    )
    .addOption(time('--backoff-cap <time>', 'longest wait before any restart'))
    .addOption(time('--healthy-after <time>', 'a run of at least this length resets the wait'));
}

/** What is given of the policy; undefined for nothing. */
export function restartOf(flags: RestartFlags): Partial<RestartPolicy> | undefined {
  const given: [key: keyof RestartPolicy, value: string | number | null | undefined][] = [
    ['policy', flags.restart],
    ['max_restarts', flags.maxRestarts],
    ['window_ms', flags.window],
    ['backoff_ms', flags.backoff],
    ['backoff_cap_ms', flags.backoffCap],
    ['healthy_ms', flags.healthyAfter],
  ];
  const set = given.filter(([, value]) => value !== undefined);
  return set.length === 0 ? undefined : (Object.fromEntries(set) as Partial<RestartPolicy>);
}
