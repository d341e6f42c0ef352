// Entry of a bot host process: wiring only. It runs the code of a bot host in its main thread, with the pipe to the relay in place
// of ports, and its own cells in place of shared memory, which the watch thread sends to the relay.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limitOwnProcess } from '../src/bot-host/own-limits.js';
import { PipeEnd } from '../src/bot-host/pipe-end.js';
import type { FromMain, WatchedCells } from '../src/bot-host/process-watch.js';
import type { HostPort } from '../src/shared/contract/threads.js';
import { messageOf } from '../src/shared/errors.js';
import { CommandLog } from '../src/shared/memory/command-log.js';
import { Heartbeat } from '../src/shared/memory/heartbeat.js';
import { InFlight } from '../src/shared/memory/in-flight.js';
import { LastRun } from '../src/shared/memory/last-run.js';
import { createLease } from '../src/shared/memory/lease-deadline.js';
import { createLags } from '../src/shared/memory/loop-lag.js';
import { createQuota } from '../src/shared/memory/quota.js';
import { WORKERS } from '../src/shared/package-paths.js';
import { CrashNote } from '../src/shared/pipe/crash-note.js';
import { packEvents } from '../src/shared/pipe/event-text.js';
import { FD } from '../src/shared/pipe/messages.js';
import { complain } from '../src/shared/terminal.js';
import { hostBots } from './bot-host.js';

// Before a kind is loaded, which may replace it.
const exit = process.exit.bind(process);
const kill = process.kill.bind(process);
const pipe = new PipeEnd((method, channel) =>
  method === 'attachEvents' ? openEvents(channel) : { port: pipe.port(channel) },
);
const cells = {
  heartbeat: Heartbeat.create(),
  lastRun: LastRun.create(),
  lag: { buffer: createLags(1), block: 0 },
  streams: createQuota({ total: 1, perToken: 1, perAddress: 1 }, 1),
  lease: createLease(),
};
const commandLog = CommandLog.create();
const note = new CrashNote(FD.note, commandLog);
const watch = new Worker(WORKERS.processWatch, { workerData: cells satisfies WatchedCells });
const watches = once(watch, 'message');
watch.unref();
// Without it nothing would end this process with the service.
watch.once('exit', () => kill(-process.pid, 'SIGKILL'));
const tellWatch = (message: FromMain): void => watch.postMessage(message);
const { start, events, limits } = await pipe.started;
process.title = `drover bot host ${start.host}`;
try {
  limitOwnProcess(limits);
} catch (thrown) {
  complain(`bot host ${start.host} has no limits of the system: ${messageOf(thrown)}`);
}
// Before any bot's code runs: native code that hangs while it is loaded keeps other threads from loading theirs.
await watches;

// Its default opens the port of the inspector.
process.on('SIGUSR1', () => {});

/** The relay has opened this channel for events. */
function openEvents(channel: number): { port: HostPort; inFlight: SharedArrayBuffer } {
  const inFlight = InFlight.create();
  tellWatch({ channel, inFlight });
  return { port: pipe.eventsPort(channel), inFlight };
}

try {
  const { port, inFlight } = openEvents(events);
  const { hasLease, ...told } = start;
  const lease = hasLease ? cells.lease : null;
  await hostBots(
    { ...told, ...cells, commandLog, control: pipe.control, events: port, inFlight, lease },
    {
      mayEnd: true,
      woke: () => tellWatch('awake'),
      ranRun: (run) => note.noteRun(run),
      ranCommand: () => note.noteCommands(),
      encode: packEvents,
    },
  );
  pipe.tell({ type: 'done' });
  exit(0);
} catch (thrown) {
  const stack = thrown instanceof Error ? (thrown.stack ?? null) : null;
  pipe.tell({ type: 'failed', message: messageOf(thrown), stack });
  exit(1);
}
