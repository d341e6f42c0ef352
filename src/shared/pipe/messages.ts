// The messages between the relay and a bot host process, beside those that they pass on.

import type { StackFrame } from '../contract/bots.js';
import type { HostStart } from '../contract/threads.js';
import type { LeaseTimes } from '../memory/lease-deadline.js';

/** File descriptors of a bot host process, as the relay opens them. */
export const FD = {
  /** Frames from the host. It writes and waits, so that what it has written arrives even if it crashes then. */
  out: 3,
  /** To the host: frames. */
  in: 4,
  /** Frames both ways between the relay and the watch thread. The end of this pipe is the end of the process. */
  watch: 5,
  /** A file without a name: what the relay reads after a crash (crash-note.ts). */
  note: 6,
} as const;

/** The start data of a host, without ports and shared memory, which a process cannot have. */
export type ProcessStart = Omit<
  HostStart,
  | 'control'
  | 'events'
  | 'inFlight'
  | 'heartbeat'
  | 'streams'
  | 'lag'
  | 'lastRun'
  | 'commandLog'
  | 'lease'
> & {
  /** The node is in a cluster: the relay tells its lease. */
  hasLease: boolean;
};

/** Limits of the system for a process. They are set before its bots start. */
export interface SystemLimits {
  /** The directory of its control group, which has its own limits. */
  cgroup: string | null;
  /** Bytes that it may have. */
  memoryBytes: number;
  /** Whether RLIMIT_DATA limits it; also when it cannot join its control group. */
  byData: boolean;
}

/** To the host, on the channel LINK: the first frame. `events` is the channel for its events. */
export type LinkStart = { start: ProcessStart; events: number; limits: SystemLimits };

/** From the host, on the channel LINK. */
export type LinkEnd =
  /** The task has ended as it was asked to; the process exits. */
  | { type: 'done' }
  /** An error in the host's own code, or of a kind's outside of any run; the process exits. */
  | { type: 'failed'; message: string; stack: string | null };

/** To the watch thread. */
export type ToWatch =
  /** The broadcaster has taken so many bytes of this channel until now, in all. */
  | { type: 'taken'; channel: number; bytes: number }
  /** Whether a stream is open. */
  | { type: 'streams'; open: boolean }
  /** Until when the node has its lease. The clocks are those of the machine, which all processes share. */
  | { type: 'lease'; until: LeaseTimes }
  | { type: 'capture'; id: number; withinMs: number };

/** From the watch thread. */
export type FromWatch =
  /** While the host is awake, and once after that. Images of Heartbeat and LastRun, and what LoopLag has counted since the last. */
  | {
      type: 'cells';
      heartbeat: number[];
      lastRun: number[];
      lag: { counts: number[]; sum: number };
    }
  | { type: 'captured'; id: number; frames: StackFrame[]; bot: string | null }
  | { type: 'notCaptured'; id: number };

/** How a process has ended. */
export interface ProcessEnd {
  /** Null when a signal has ended it, or it could not be started. */
  code: number | null;
  signal: string | null;
  /** Whether it finished its task before it exited. */
  isDone: boolean;
  /**
   * What its own code has failed with, or why it could not be started. With `isFault` it was ended, because it had sent what no bot
   * host sends.
   */
  failure: { message: string; stack: string | null; isFault?: true } | null;
  /** The last lines of its standard error, oldest first. */
  stderr: string[];
}

/** Main to the relay thread. */
export type RelayMethods = {
  /** Starts a bot host process, and relays for it until it has ended. */
  open(input: { link: number; start: HostStart; limits: SystemLimits }): void;
  /** Where the host's code is; null when it does not answer in time: it is in native code. */
  capture(input: {
    link: number;
    withinMs: number;
  }): { frames: StackFrame[]; bot: string | null } | null;
  /** Ends the process, and what it has started. */
  kill(input: { link: number }): void;
  /** The node's lease was renewed, or has ended: the processes are told what the shared memory says. */
  leaseChanged(input: null): void;
};

/** The relay thread to main. */
export type RelayControlMethods = {
  started(input: { link: number; pid: number }): void;
  /** The process is gone, and all that it has sent was passed on. */
  ended(input: { link: number; end: ProcessEnd }): void;
};
