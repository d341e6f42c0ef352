import { Counter, Gauge, type Metric, Registry } from 'prom-client';
import type { ClusterMetrics, KindUsage } from '../../shared/contract/metric-layout.js';
import { VERSION } from '../../shared/version.js';
import type { Buckets, Sample } from './sample.js';

export const CONTENT_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

type Labels = Readonly<Record<string, string>>;
/** A number, or one for each set of labels. */
type Values = number | readonly (readonly [labels: Labels, value: number])[];

/**
 * The response of `GET /metrics` (docs/METRICS.md). The registry is rebuilt from each sample, so that concurrent scrapes
 * cannot mix. Loaded on the first scrape.
 */
export function exposition(sample: Sample): Promise<string> {
  const registry = new Registry();
  // Label names are explicit: otherwise a metric without values would appear as one without labels.
  const counter = (name: string, help: string, values: Values, labelNames: string[] = []): void => {
    const made = new Counter({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of listed(values)) made.inc(labels, value);
  };
  const gauge = (name: string, help: string, values: Values, labelNames: string[] = []): void => {
    const made = new Gauge({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of listed(values)) made.set(labels, value);
  };
  const histogram = (name: string, help: string, of: readonly Histogram[]): void =>
    registry.registerMetric(new CountedHistogram(name, help, of) as unknown as Metric);

  const { main, process: own, streams, ring, pin } = sample;
  gauge(
    'drover_build_info',
    'Always 1; the labels say what runs.',
    [[{ version: VERSION, node: process.versions.node }, 1]],
    ['version', 'node'],
  );
  gauge(
    'drover_bots',
    'Bots, by kind and status.',
    sample.bots.map(({ kind, status, count }) => [{ kind, status }, count]),
    ['kind', 'status'],
  );
  counter(
    'drover_bot_restarts_total',
    'Restarts of bots by the service, by kind.',
    Object.entries(main.restarts).map(([kind, count]) => [{ kind }, count]),
    ['kind'],
  );
  counter(
    'drover_incidents_total',
    'Incidents, by type.',
    Object.entries(main.incidents).map(([type, count]) => [{ type }, count]),
    ['type'],
  );
  const used = (name: string, help: string, pick: (usage: KindUsage) => number): void =>
    gauge(
      name,
      help,
      Object.entries(main.usage).map(([kind, usage]) => [{ kind }, pick(usage)]),
      ['kind'],
    );
  used('drover_bot_cpu_cores', 'Cores that bots use, by kind.', ({ cpu }) => cpu);
  used('drover_bot_lines_per_second', 'Lines that bots publish, by kind.', ({ lines }) => lines);
  used(
    'drover_bot_bytes_per_second',
    'Bytes of the messages of these lines, by kind.',
    ({ bytes }) => bytes,
  );
  used(
    'drover_bot_connections',
    'Open connections, servers and child processes of bots, by kind.',
    ({ connections }) => connections,
  );
  gauge('drover_hosts', 'Threads and processes that run bots.', main.hosts);
  gauge(
    'drover_host_queue_ratio',
    'Fullest bot host: events on their way to the broadcaster, as a share of their bound.',
    main.queue,
  );
  counter(
    'drover_events_total',
    'Events that were published, by the name they have on the stream.',
    sample.events.map(({ name, count }) => [{ event: name }, count]),
    ['event'],
  );
  counter(
    'drover_log_lines_total',
    'Lines that were published, by level.',
    sample.lines.map(({ name, count }) => [{ level: name }, count]),
    ['level'],
  );
  gauge('drover_ring_bytes', 'Bytes of the frames on the ring.', ring.bytes);
  gauge('drover_ring_capacity_bytes', 'Size of the ring.', ring.capacity);
  gauge('drover_ring_frames', 'Frames on the ring.', ring.frames);
  counter(
    'drover_ring_writer_waits_total',
    'Times that the broadcaster waited for a front that read what it wanted to overwrite.',
    ring.waits,
  );
  const { journal } = main;
  gauge(
    'drover_journal_up',
    'Whether events are kept: 1, or 0 when the journal is off, being checked or has failed.',
    journal.state === 'on' ? 1 : 0,
  );
  gauge('drover_journal_bytes', 'Bytes that the journal takes.', journal.bytes);
  counter(
    'drover_journal_lost_events_total',
    'Events that the journal could not keep.',
    journal.lost,
  );
  counter('drover_journal_holes_total', 'Pieces that are missing in the journal.', journal.holes);
  if (main.cluster) clusterMetrics(gauge, main.cluster, sample.clusterRing);
  gauge('drover_rules', 'Rules that there are.', main.rules);
  gauge(
    'drover_alerts_firing',
    'Rules that fire, by severity.',
    Object.entries(main.firing).map(([severity, count]) => [{ severity }, count]),
    ['severity'],
  );
  gauge('drover_streams', 'Event streams that are open.', streams.open);
  gauge(
    'drover_streams_blocked',
    'Event streams whose client takes nothing, as of the last second.',
    streams.blocked,
  );
  counter(
    'drover_streams_evicted_total',
    'Event streams that were closed because their client took nothing for too long.',
    streams.evictions,
  );
  counter(
    'drover_stream_gaps_total',
    'Losses that were declared to a stream with a gap event.',
    streams.gaps,
  );
  counter(
    'drover_stream_frames_total',
    'Frames from the ring that were handed to streams.',
    streams.frames,
  );
  counter('drover_stream_bytes_total', 'Bytes that were handed to streams.', streams.bytes);
  counter('drover_stream_writes_total', 'Writes to streams.', streams.writes);
  histogram(
    'drover_flush_duration_seconds',
    'How long a front worked to give all of its streams what was new.',
    [{ labels: {}, buckets: streams.flush }],
  );
  gauge('drover_connections', 'Open connections.', sample.connections);
  counter(
    'drover_http_requests_total',
    'Answered requests by route and status; streams when they begin. HEAD counts as GET.',
    sample.requests.map(({ count, ...labels }) => [labels, count]),
    ['method', 'route', 'status'],
  );
  gauge('drover_tokens', 'Tokens that there are.', main.tokens);
  counter('drover_pin_failures_total', 'Wrong PINs.', pin.failures);
  gauge(
    'drover_pin_lock_seconds',
    'How long the PIN exchange is locked, 0 when it is not.',
    pin.lockedForS,
  );
  histogram(
    'drover_event_loop_lag_seconds',
    "How late a timer of the thread's loop was, ten times a second.",
    sample.lags.map(({ thread, ...buckets }) => ({ labels: { thread }, buckets })),
  );
  counter(
    'drover_thread_busy_seconds_total',
    "How long the thread's loop has worked.",
    main.busy.map(({ thread, seconds }) => [{ thread }, seconds]),
    ['thread'],
  );
  counter('process_cpu_seconds_total', 'CPU time of the process, user and system.', own.cpuSeconds);
  gauge('process_resident_memory_bytes', 'Resident memory of the process.', own.residentBytes);
  gauge('process_start_time_seconds', 'Start of the process, Unix epoch.', own.startedAt);
  if (own.openFiles !== null) gauge('process_open_fds', 'Open files.', own.openFiles);
  if (own.maxFiles !== null) gauge('process_max_fds', 'Open files, at most.', own.maxFiles);
  return registry.metrics();
}

/** Only in a cluster. */
function clusterMetrics(
  gauge: (name: string, help: string, values: Values, labelNames?: string[]) => void,
  { nodes, isLeader, isOn, unpublished, behind, leftovers, diverged, hasKey }: ClusterMetrics,
  ring: Sample['clusterRing'],
): void {
  gauge(
    'drover_cluster_nodes',
    'Nodes of the cluster, by state.',
    Object.entries(nodes).map(([state, count]) => [{ state }, count]),
    ['state'],
  );
  gauge('drover_cluster_is_leader', 'Whether this node places bots: 1 or 0.', isLeader ? 1 : 0);
  gauge(
    'drover_cluster_up',
    'Whether this node reaches the cluster: 1, or 0 while it joins or is cut off.',
    isOn ? 1 : 0,
  );
  gauge(
    'drover_cluster_unpublished_events',
    'Events of this node that are not on the stream of the cluster yet.',
    unpublished,
  );
  gauge(
    'drover_cluster_behind_blocks',
    'Blocks of the stream of the cluster that this node has not read yet.',
    behind,
  );
  gauge(
    'drover_cluster_leftover_bots',
    'Bots on the disk of this node that do not run: the cluster has others with their ids.',
    leftovers,
  );
  gauge(
    'drover_cluster_diverged_buckets',
    'Buckets in which the NATS servers have diverged, as the leader has found out.',
    diverged,
  );
  gauge(
    'drover_cluster_has_key',
    'Whether this node can read the secrets of the cluster: 1 or 0.',
    hasKey ? 1 : 0,
  );
  if (!ring) return;
  gauge('drover_cluster_ring_bytes', 'Bytes of the frames on the ring of the cluster.', ring.bytes);
  gauge('drover_cluster_ring_capacity_bytes', 'Size of that ring.', ring.capacity);
}

function listed(values: Values): Exclude<Values, number> {
  return typeof values === 'number' ? [[{}, values]] : values;
}

interface Histogram {
  labels: Labels;
  buckets: Buckets;
}

/** A histogram of counts from shared memory: that of prom-client only accepts single observations. */
class CountedHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #series: readonly Histogram[];

  constructor(name: string, help: string, series: readonly Histogram[]) {
    this.name = name;
    this.help = help;
    this.#series = series;
  }

  /** Called by prom-client's registry. */
  async get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return {
      name,
      help,
      type,
      aggregator,
      values: this.#series.flatMap((one) => this.#values(one)),
    };
  }

  #values({ labels, buckets: { bounds, counts, sum } }: Histogram): object[] {
    let count = 0;
    const values: object[] = counts.map((more, at) => {
      count += more;
      const le = at < bounds.length ? String(bounds[at]) : '+Inf';
      return { labels: { ...labels, le }, value: count, metricName: `${this.name}_bucket` };
    });
    values.push({ labels, value: sum, metricName: `${this.name}_sum` });
    values.push({ labels, value: count, metricName: `${this.name}_count` });
    return values;
  }
}
