// Imported by the bench process and by load/swarm.ts. Owns the messages between the two.

/** Where streams are opened, and what they look like. */
export interface StreamTarget {
  /** `http://127.0.0.1:<port>` */
  url: string;
  path: string;
  authorization: string;
  /** What each frame begins with. */
  frameStart: string;
}

/** How the clients of a group read: all they can, nothing after the first bytes, or a kilobyte a second. */
export type Reading = 'all' | 'nothing' | 'trickle';

/** A group is a number of streams to one server, named by the bench. */
export type SwarmJob =
  /** Opens streams; answered when each has had its first bytes. */
  | { do: 'open'; group: string; target: StreamTarget; streams: number; reading: Reading }
  /** The server is silent and a load is about to begin: counts from here on, and parses so many streams in full. */
  | { do: 'mark'; group: string; sample: number }
  /** A stretch of a running load begins or ends. */
  | { do: 'begin'; group: string }
  | { do: 'end'; group: string }
  /** The load has ended: waits until each stream has all of it, or `withinMs` have passed. */
  | { do: 'drain'; group: string; withinMs: number }
  /** A group that read nothing reads again, for so long, each stream parsed in full. */
  | { do: 'resume'; group: string; forMs: number }
  | { do: 'close'; group: string };

export interface SwarmReply {
  /** Payload bytes of all streams of the group since the mark, heartbeats not counted. */
  bytes: number;
  /** Chunks of all streams since they were opened: writes of the server. */
  chunks: number;
  /** Losses that were declared to any of the streams. */
  gaps: number;
  /** Of the fully parsed streams, since the mark; `lost` is how many frames their gaps say are lost. */
  sampleBytes: number;
  sampleFrames: number;
  lost: number;
  /** Streams that the server ended, or that broke. */
  closed: number;
  /** Least and most bytes of one stream since the mark: equal when nothing is missing or doubled. */
  least: number;
  most: number;
  /** The first things that were wrong, a few of them. */
  faults: string[];
  /** Buckets and counts of latencies since the last `begin`; see LatencyHistogram. */
  latencies: [bucket: number, count: number][];
  maxMs: number;
  /** This process since the last `begin`: CPU time, and time ready to run with no core free, as shares of the time. */
  ownCpu: number;
  ownWait: number;
  /** Local ports of the streams. */
  ports: number[];
  /** Only for `resume`, by stream. */
  resumed: ResumedStream[];
}

/** What a client that had read nothing got when it read again. */
export interface ResumedStream {
  port: number;
  /** Bytes on the wire up to the first gap, or all of them when there was none. */
  bytesBeforeGap: number;
  frames: number;
  gaps: number;
}
