// The messages between the bench process and load/swarm.ts.

/** Stands for the number of a stream in its group, five digits, in a path. */
export const NUMBER_IN_PATH = '{n}';

/** The target of streams, and their format. */
export interface StreamTarget {
  /** `http://127.0.0.1:<port>` or https; any certificate is trusted. */
  url: string;
  /** May contain {@link NUMBER_IN_PATH}. */
  path: string;
  authorization: string;
  /** The first bytes of each frame. */
  frameStart: string;
}

/** How clients read: everything, nothing after the first bytes, or 1 KB per second. */
export type Reading = 'all' | 'nothing' | 'trickle';

/** A group of streams to one server, named by the bench. */
export type SwarmJob =
  /** Opens streams, also more of a group; replies when each has received its first bytes. */
  | { do: 'open'; group: string; target: StreamTarget; streams: number; reading: Reading }
  /** Before a load, while the server is silent: starts counting, and fully parses this many streams, filtered ones or not. */
  | { do: 'mark'; group: string; sample: number; filtered: boolean }
  /** Begins or ends a measured period of a running load. */
  | { do: 'begin'; group: string }
  | { do: 'end'; group: string }
  /** After the load: waits until each stream has everything, or `withinMs` have passed. */
  | { do: 'drain'; group: string; withinMs: number }
  /** A group that read nothing reads again for this long, with each stream fully parsed. */
  | { do: 'resume'; group: string; forMs: number }
  | { do: 'close'; group: string };

export interface SwarmReply {
  /** Payload bytes of all streams since the mark, without heartbeats. */
  bytes: number;
  /** Chunks of all streams since they were opened (writes of the server). */
  chunks: number;
  /** Gaps of all streams. */
  gaps: number;
  /** Of the fully parsed streams since the mark; `lost` is the number of frames lost in gaps. */
  sampleBytes: number;
  sampleFrames: number;
  lost: number;
  /** Streams that ended or broke. */
  closed: number;
  /** Fewest and most bytes of a stream since the mark; equal if nothing is missing or doubled. */
  least: number;
  most: number;
  /** The first few faults. */
  faults: string[];
  /** Buckets and counts of latencies since the last `begin`; see LatencyHistogram. */
  latencies: [bucket: number, count: number][];
  maxMs: number;
  /** This process since the last `begin`: CPU time, and time waiting for a core, as shares of the time. */
  ownCpu: number;
  ownWait: number;
  /** Local ports of the streams. */
  ports: number[];
  /** Only for `resume`, by stream. */
  resumed: ResumedStream[];
}

/** What a client that read nothing received when it read again. */
export interface ResumedStream {
  port: number;
  /** Bytes on the wire up to the first gap, or all if there was none. */
  bytesBeforeGap: number;
  frames: number;
  gaps: number;
}
