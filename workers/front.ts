// Entry of a front thread: wiring only. The thread is never terminated while it has sockets, because that aborts the
// whole process: it closes them and ends by itself.

import { parentPort, workerData } from 'node:worker_threads';
import { loadEngine } from '../src/front/engine/load.js';
import { Front } from '../src/front/front.js';
import { frontMethods } from '../src/front/front-rpc.js';
import { describeRequest, watchRequests } from '../src/front/http/running-request.js';
import { Listener } from '../src/front/requests/listener.js';
import { controlBounds } from '../src/front/routes/control.js';
import { fixedResponses } from '../src/front/routes.js';
import { responseCell } from '../src/shared/contract/metric-layout.js';
import { Rpc } from '../src/shared/contract/rpc.js';
import type { ControlMethods, FrontMethods, FrontStart } from '../src/shared/contract/threads.js';
import { messageOf } from '../src/shared/errors.js';
import { watchLag } from '../src/shared/lag-watch.js';
import { DASHBOARD_DIR } from '../src/shared/package-paths.js';
import { offerLeave } from '../src/shared/stack-capture.js';

if (!parentPort) throw new Error('workers/front runs in a worker thread only');
const parent = parentPort;
const start = workerData as FrontStart;
const { engine: wantedEngine, http, tls } = start.config;

const { kind, line } = await loadEngine(wantedEngine, http.fronts);

const lag = watchLag(start.counts.lag, {
  slow: (turn) => control.tell('slow', turn),
  describe: (request) => describeRequest(request, start.pin),
});
watchRequests(() => lag.note());
parent.on('message', () => lag.note());
const control = new Rpc<FrontMethods, ControlMethods>(
  parent,
  null,
  controlBounds(http.max_requests_in_flight),
);

const front = new Front({
  start,
  control,
  writes: { sizes: kind.writeSizes(tls.cert !== null), shared: kind.sharesWrites },
  dashboardDir: DASHBOARD_DIR,
  noteWake: () => lag.note(),
});
const engine = kind.create((exchange) => front.handler.handle(exchange), fixedResponses(front), {
  tls: front.tls,
  ciphers: tls.ciphers,
  responded(route, status) {
    lag.note();
    front.counters.add(responseCell(route, status), 1);
  },
  connections: front.connections,
  maxUrlBytes: http.max_url_bytes,
  maxHeaderBytes: http.max_header_bytes,
  headerTimeoutMs: http.header_timeout_ms,
  bodyTimeoutMs: http.body_timeout_ms,
  idleTimeoutMs: http.idle_timeout_ms,
});
const listener = new Listener(engine, http.host);
control.serve(
  frontMethods(front, {
    listener,
    engine: { engine: line, wantsCensus: !kind.knowsAddresses },
    end,
  }),
);

/** Closes everything that keeps the thread alive, also in the midst of its work: sockets come first. */
function end(): void {
  const steps = [
    () => listener.close(),
    () => front.views.stop(),
    () => front.uses.stop(),
    () => front.log.flush(),
    () => front.hosts.detach(),
    () => parent.close(),
  ];
  for (const step of steps) {
    try {
      step();
    } catch {
      // It was interrupted in the midst of a change: the rest has to be closed nevertheless.
    }
  }
}
// A front that hangs closes its sockets within the turn that is aborted then.
offerLeave(end);

process.on('uncaughtException', (error) => {
  control.tell('failed', { message: messageOf(error) });
  end();
});
