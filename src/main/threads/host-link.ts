// How main reaches a bot host: in a thread of the service (thread-link.ts), or in a process (process-link.ts).

import type { MessagePort } from 'node:worker_threads';
import type { Isolation } from '../../shared/contract/bots.js';
import type { HostStart } from '../../shared/contract/threads.js';
import type { Captured } from '../../shared/stack-capture.js';
import type { ThreadHandle } from './thread-source.js';

export interface HostLink extends ThreadHandle {
  readonly isolation: Isolation;
  /** The stack of the host; undefined when it does not answer within the time, because it is in native code. */
  capture(withinMs: number): Promise<Captured | undefined>;
  /** How long its thread has waited for a processor since its start, in ms. @param thread its id, as the host says. */
  waitedMs(thread: number): number;
  /** Bytes that its process uses; null for a thread, whose memory is that of the service, and where that is unknown. */
  memory(): number | null;
}

export interface LinkOptions {
  /** Its ports and cells are those that the rest of the service uses, for a thread and for a process. */
  task: HostStart;
  transferList: MessagePort[];
  /** Main's end of the channel for its Rpc. */
  port: MessagePort;
  /** Called when the host has failed outside of its task. */
  failed: (error: Error) => void;
}

/** Starts a bot host. @throws Error when the system does not allow another one. */
export type StartLink = (options: LinkOptions) => HostLink;
