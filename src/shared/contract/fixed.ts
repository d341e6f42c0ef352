// Values that no operator has a reason to set, in the form of the configuration. Each says why it is what it is. Tests replace
// them; nothing else does.

export const FIXED = {
  http: {
    /** Bytes of request bodies in flight per front, without the first 4 KiB of each; then 503. A thousand bodies of full size. */
    max_bodies_bytes: 67_108_864,
    /** Time for receiving a body in ms; then 408. uWebSockets.js closes a connection without a response after 8 s. */
    body_timeout_ms: 5000,
    /** Nesting of a JSON body; then 400. Deeper values are attacks on parsers. */
    max_json_depth: 64,
    /** Bytes of path and query; then 414. What servers and browsers agree on. */
    max_url_bytes: 8192,
    /** Bytes of a request head; then 431. The limit of Node. uWebSockets.js accepts more if it arrives in one piece. */
    max_header_bytes: 16_384,
    /** Time for a request head, and between two requests, in ms. uWebSockets.js has 8 to 12 s, which nothing changes. */
    header_timeout_ms: 10_000,
    idle_timeout_ms: 10_000,
    /** Requests in progress per front and route, once their body has arrived; then 503. More would only wait longer. */
    max_requests_in_flight: 1000,
  },
  /** Wrong PINs at once, and a minute: docs/SECURITY.md says how long guessing takes with them. */
  pin: { capacity: 12, refill_per_minute: 12 },
  stream: {
    /** Reconnect delay sent to browsers as `retry:`, in ms, ± 25 %, plus what returns_per_second adds. */
    retry_ms: 2000,
    /** A stream whose client reads nothing for this long, in ms, is closed: two heartbeats of the default. */
    stall_ms: 30_000,
    /** Bytes per front that slow clients may hold before streams get only small writes. As much as the default ring. */
    max_held_bytes: 67_108_864,
    /** How many clients return in a second after a restart. A front on one core takes twice as many (docs/BENCHMARKS.md). */
    returns_per_second: 2000,
  },
  hosts: {
    /** Bytes of events in flight per bot host; above it info lines are skipped. Many times what one turn of a host makes. */
    in_flight_bytes: 8_388_608,
    /** Time for loading a kind in ms; then the service starts without it. No kind takes seconds unless it hangs. */
    kind_load_ms: 10_000,
    /** Memory of a host process in MB; null for hosts.max_heap_mb plus 512: Node, its code, and what native modules use. */
    process_memory_mb: null as number | null,
  },
  /** Share of hosts.in_flight_bytes in use; then new bots get 503. */
  pressure: { max_queue: 0.9 },
  /** Longest time before an event is written, in ms. Less costs a write per few lines, and bot hosts batch for up to 100 ms. */
  journal: { flush_ms: 50 },
  /** Unclean ends within a minute after which the service starts as with `start.bots` `safe`, then as with `none`. */
  start: { safe_after: 3 },
  watchdog: {
    /** A bot that blocks its host's event loop for this long, in ms, is named in a warn line. People notice a quarter of a second. */
    slow_ms: 250,
    /** One that did so three times within five minutes, for this long in all, in ms, gets a dedicated host. */
    isolate_ms: 5000,
  },
  /** Time over which the usage of bots is averaged, in ms. */
  quota: { window_ms: 10_000 },
  /** Age of events in the stream of the cluster in ms. cluster.window_bytes is what limits disks. */
  cluster: { window_ms: 3_600_000 },
  /**
   * Time for stopping bots at shutdown, at most, and for the last frames, in ms. The process is killed after 9.5 s
   * (src/cli/stop-signals.ts); the rest is for ending the threads, with 1 s for hosts that hang.
   */
  shutdown: { bots_ms: 5000, streams_ms: 2500 },
  /** Bots of the demo: a conversation that fits on a page. */
  demo: { bots: 3 },
};
