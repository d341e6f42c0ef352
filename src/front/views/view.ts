import type { MessagePort } from 'node:worker_threads';
import { NameHasher } from '../../shared/contract/name-hash.js';
import type { StreamIdentity } from '../../shared/contract/threads.js';
import type { Counters } from '../../shared/memory/counters.js';
import { NodeNames } from '../../shared/memory/node-names.js';
import { RingReader } from '../../shared/memory/ring-reader.js';
import type { MakeJudge } from '../../shared/stream/frame-query.js';
import { BotList } from '../bots/bot-list.js';
import { MirrorJudge } from '../bots/mirror-judge.js';
import { SnapshotMirror } from '../bots/snapshot-mirror.js';
import { BroadcasterClient } from '../stream/broadcaster-client.js';
import { Fanout } from '../stream/fanout.js';
import { SnapshotFrames } from '../stream/initial-state.js';
import { JournalClient } from '../stream/journal-client.js';
import type { KeepaliveOptions } from '../stream/keepalive.js';
import type { WriteSizesOptions } from '../stream/write-sizes.js';

/** Options that all views of a front share. */
export interface ViewCommon extends Omit<KeepaliveOptions, 'epoch'> {
  /** Number of the front's cells on each ring. */
  front: number;
  writes: WriteSizesOptions;
  counters: Counters;
  /** Called when the doorbell of a stream rings. */
  noteWake: () => void;
}

export interface ViewOptions extends ViewCommon {
  stream: StreamIdentity;
  /** Whether the journal can be asked for frames that have left the ring. */
  journal: { enabled: boolean };
  /** Fetches the mirror's baseline, if it does not come from a broadcaster's channel. */
  rebase?: (mirror: SnapshotMirror) => Promise<void>;
}

/** Runs in a front thread. Owns the parts that show one stream to clients: that of this node, or that of the cluster. */
export class View {
  readonly epoch: string;
  readonly reader: RingReader;
  readonly names: NameHasher;
  /** On the stream of a cluster: the nodes that frames are from. */
  readonly nodes: NodeNames | undefined;
  readonly broadcaster: BroadcasterClient;
  readonly mirror: SnapshotMirror;
  /** Judges the bots of a query on this stream. */
  readonly makeJudge: MakeJudge;
  readonly bots: BotList;
  readonly journal: JournalClient;
  readonly fanout: Fanout;
  #isClosed = false;

  constructor(options: ViewOptions) {
    const { stream, front, writes, noteWake, rebase } = options;
    this.epoch = stream.epoch;
    this.reader = new RingReader(stream.ring, front);
    this.names = new NameHasher(stream.hashKey);
    this.nodes = stream.nodes && new NodeNames(stream.nodes);
    this.broadcaster = new BroadcasterClient({
      reset: (next, sessions) => this.mirror.reset(next, sessions),
      wake: () => {
        noteWake();
        this.fanout.wake();
      },
    });
    this.mirror = new SnapshotMirror(
      this.reader,
      this.names,
      rebase ? () => rebase(this.mirror) : () => this.broadcaster.rebase(),
    );
    this.makeJudge = (key, condition) => new MirrorJudge(this.mirror, key, condition);
    this.bots = new BotList(this.mirror);
    this.journal = new JournalClient(options.journal);
    this.fanout = new Fanout({
      reader: this.reader,
      nodes: this.nodes,
      epoch: stream.epoch,
      writes,
      snapshots: new SnapshotFrames(this.mirror, writes.sizes[0] as number),
      journal: this.journal,
      heartbeatMs: options.heartbeatMs,
      stallMs: options.stallMs,
      counters: options.counters,
    });
  }

  /** Whether its stream has been replaced. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes its channels. Resolves when the mirror has its baseline. */
  async attach(broadcaster: MessagePort, history: MessagePort): Promise<void> {
    this.journal.attach(history);
    await this.broadcaster.attach(broadcaster);
  }

  /** Ends its streams and drops its channels. Calls that wait for them are rejected. */
  close(): void {
    this.#isClosed = true;
    this.fanout.endAll();
    this.stop();
  }

  /** Stops the timers that keep the thread alive. */
  stop(): void {
    this.fanout.stop();
    this.broadcaster.close();
    this.journal.detach();
  }
}
