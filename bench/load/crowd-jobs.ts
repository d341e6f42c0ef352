// The messages between the bench process and load/crowd.ts, load/visitors.ts.

/** When a client that has lost its stream connects again. */
export type ComingBack =
  /** After the `retry:` that it was sent, again and again, as browsers do. */
  | 'as-told'
  /** All in the moment in which the port accepts connections. */
  | 'at-once';

export type CrowdJob =
  /** Opens streams; replies when each has its position. */
  | { do: 'open'; url: string; authorization: string; streams: number }
  /**
   * Before the service is killed. Clients come back from up to `spread` frames before their last one. They count as resumed
   * when they have received a frame with `marker`.
   */
  | { do: 'expect-loss'; comingBack: ComingBack; spread: number; marker: string }
  /** Replies when all streams are resumed, or `withinMs` have passed. */
  | { do: 'await-return'; withinMs: number }
  | { do: 'close' };

export interface CrowdReply {
  streams: number;
  /** Streams that were lost, and that came back and received the marker. */
  lost: number;
  resumed: number;
  /** Unix epoch ms of each return: the response has begun, the marker was received. */
  openedAt: number[];
  resumedAt: number[];
  /** Connections that failed while nobody listened, and afterwards. */
  refused: number;
  /** Lowest and highest number of the last frame, and `retry:` in ms. */
  positions: [lowest: number, highest: number];
  retryMs: [lowest: number, highest: number];
  /** Each distinct gap as `<from>-<to>`, and how many streams had it. */
  gaps: [gap: string, streams: number][];
  /** Frames that were replayed to streams, before their gap. */
  replayed: number;
  /** The first few faults: a frame that is missing or doubled, a response that is not a stream. */
  faults: string[];
  /** This process since the loss: CPU time and time waiting for a core, as shares of the time. */
  ownCpu: number;
  ownWait: number;
}

export type VisitorJob =
  /** Requests `/health` every few ms, on a new connection each time and on one that stays open, until `stop`. */
  | { do: 'watch'; url: string; everyMs: number }
  | { do: 'stop' }
  /** Exchanges the PIN for a token, `count` times, `atOnce` at a time. */
  | { do: 'sign-in'; url: string; pin: string; count: number; atOnce: number };

/** Responses since the first one. */
export interface Answers {
  count: number;
  failed: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

export interface VisitorReply {
  /** `/health` on a new connection each time, and on one that stays open. */
  fresh: Answers;
  kept: Answers;
  signIns: Answers;
  /** The longest delay of this process's own timers, in ms: part of each latency. */
  ownLagMs: number;
  faults: string[];
}
