/** What a bot host does. HostPool holds the state and carries out the effects. */
export type HostState =
  /** Its thread runs and loads bot kinds. It takes no bots yet. */
  | 'loading'
  /** Takes any bot whose kind it has. There are `hosts.count` of these, or as many as bots need. */
  | 'shared'
  /** Takes only the bots that it was started for, and ends with the last of them. */
  | 'reserved'
  /** A run on it does not end. It takes no more bots, and ends when its bots have moved. */
  | 'retiring'
  /** Its loop does not turn. It is examined, then killed. */
  | 'stuck'
  /** It was asked to end. */
  | 'ending'
  /** It was lost with all its bots. Its thread may still be exiting. */
  | 'lost'
  /** Its thread no longer exists. */
  | 'gone';

export type HostEvent =
  /** It has loaded its kinds. */
  | 'share'
  | 'reserve'
  /** Its last bot has left. */
  | 'empty'
  /** It has no bots, and other versions of its kinds are current. */
  | 'outdated'
  /** A run on it did not end within the grace time, and its bot is to be started again, or no other bot is there. */
  | 'overdue'
  /** The watchdog has seen no heartbeat for `watchdog.hang_ms`. */
  | 'hang'
  /** The time has passed in which its bots had to move, or it had to end. */
  | 'deadline'
  /** The service shuts down. */
  | 'stop'
  /** Its code has failed, or it was killed. */
  | 'fail'
  | 'exit';

export type HostEffect =
  /** Resume the bots that wait for a shared host. */
  | 'offer'
  /** Report the run that does not end, have the bots moved, and set a deadline for that. */
  | 'retire'
  /** Find out where the thread is, report that, then kill it. */
  | 'examine'
  /** Ask the thread to end, and set a deadline for that. */
  | 'shutDown'
  | 'kill'
  /** Tell its bots that they have lost their host. */
  | 'reportLoss'
  /** Start a host with the same number, if that is one of the shared numbers. */
  | 'replace'
  /** Start a host with the same number once the thread has exited. */
  | 'replaceAfterExit';

export interface HostTransition {
  readonly to: HostState;
  /** Carried out in this order. */
  readonly effects: readonly HostEffect[];
}

const to = (state: HostState, ...effects: HostEffect[]): HostTransition => ({ to: state, effects });

const END = to('ending', 'shutDown');
const LOSE = to('lost', 'kill', 'reportLoss', 'replace');
const EXIT = to('gone');

const LIFE: Readonly<Record<HostState, Partial<Record<HostEvent, HostTransition>>>> = {
  loading: {
    share: to('shared', 'offer'),
    reserve: to('reserved'),
    stop: END,
    // Its start rejects with the kind that was being loaded.
    fail: to('lost', 'kill'),
    exit: EXIT,
  },
  shared: {
    outdated: to('ending', 'shutDown', 'replaceAfterExit'),
    overdue: to('retiring', 'retire'),
    hang: to('stuck', 'examine'),
    stop: END,
    fail: LOSE,
    exit: EXIT,
  },
  reserved: {
    empty: END,
    overdue: to('retiring', 'retire'),
    hang: to('stuck', 'examine'),
    stop: END,
    fail: LOSE,
    exit: EXIT,
  },
  retiring: {
    empty: to('ending', 'shutDown', 'replaceAfterExit'),
    hang: to('stuck', 'examine'),
    deadline: to('retiring', 'kill'),
    stop: END,
    fail: LOSE,
    exit: EXIT,
  },
  // A thread that the inspector has paused cannot be terminated: only its examination kills it.
  stuck: { stop: END, fail: LOSE, exit: EXIT },
  ending: { deadline: to('ending', 'kill'), fail: to('lost', 'kill'), exit: EXIT },
  lost: { exit: EXIT },
  gone: {},
};

export const HOST_STATES = Object.keys(LIFE) as readonly HostState[];

/** What an event does to a host. An event that a state does not name changes nothing. */
export function nextHostStep(state: HostState, event: HostEvent): HostTransition {
  return LIFE[state][event] ?? to(state);
}

/** It has bots, or is about to, and its thread is not on its way out. */
export function isUp(state: HostState): boolean {
  return state !== 'loading' && !isEnding(state);
}

/** It takes no more bots, and its thread exits or has exited. */
export function isEnding(state: HostState): boolean {
  return state === 'ending' || state === 'lost' || state === 'gone';
}
