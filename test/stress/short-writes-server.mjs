// A server of short-writes.test.ts: one engine of the build, whose streams are pieces of a known pattern, of any size that a
// write may have. Its process is one whose sockets accept only parts of writes.

const { build, engine, tls, ciphers, maxPieceBytes, streamBytes, patternBytes } = JSON.parse(
  process.argv[2],
);
const { loadEngine } = await import(new URL('front/engine/load.js', build).href);
const { kind } = await loadEngine(engine, 1);

/** Byte n of a stream is byte n modulo its length. */
const pattern = Buffer.from(new SharedArrayBuffer(patternBytes + maxPieceBytes));
for (let at = 0; at < pattern.length; at++) pattern[at] = ((at % patternBytes) * 2654435761) >>> 13;

let seed = 1;
function below(limit) {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * limit);
}

function stream(exchange) {
  let sent = 0;
  const run = () => {
    while (sent < streamBytes) {
      // Small ones too: what precedes a large one decides how full the socket is.
      const most = below(4) === 0 ? 100 : maxPieceBytes;
      const size = Math.min(1 + below(most), streamBytes - sent);
      const from = sent % patternBytes;
      sent += size;
      if (!sink.write(pattern.subarray(from, from + size))) return;
    }
    sink.end();
  };
  const sink = exchange.stream(['Content-Type', 'text/event-stream'], () => {}, run);
  // As in the fan-out: not in the request's own turn.
  setImmediate(run);
}

const server = kind.create(stream, new Map(), {
  responded: () => {},
  tls,
  ciphers,
  connections: { entered: () => undefined, left: () => {}, hasCrowd: false },
  maxUrlBytes: 100,
  maxHeaderBytes: 4096,
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
});
console.log(await server.listen('127.0.0.1', 0, false));
