// Entry of a bot host thread: a piscina task that runs until it is told to shut down. Wiring only; a bot host process has the same
// (workers/bot-process.ts).

import { captureConsole, captureWrites } from '../src/bot-host/bot-output.js';
import { ChildUsage } from '../src/bot-host/child-usage.js';
import { type KindCode, noteKindCode, runAsBot, watchRuns } from '../src/bot-host/current-bot.js';
import { causeFault } from '../src/bot-host/drill.js';
import type { LeaseFence } from '../src/bot-host/fence.js';
import { FrontCommands } from '../src/bot-host/front-commands.js';
import {
  fixGlobals,
  guardDescriptors,
  hidePort,
  muteSharedEvents,
  publishGuards,
  refuseCalls,
} from '../src/bot-host/guards.js';
import { BotHost } from '../src/bot-host/host.js';
import { useSources } from '../src/bot-host/kind-sources.js';
import { importKind, loadModule } from '../src/bot-host/kinds.js';
import { LeftBehindList } from '../src/bot-host/left-behind.js';
import {
  childrenByRun,
  endChildren,
  noteOpeners,
  noteWorker,
  openByKind,
  openByRun,
  watchChildren,
} from '../src/bot-host/open-handles.js';
import { Outbox } from '../src/bot-host/outbox.js';
import { ownCallbacks } from '../src/bot-host/own-callbacks.js';
import { ownEnvironment } from '../src/bot-host/own-environment.js';
import { ownProcess } from '../src/bot-host/own-process.js';
import { ownProperty, ownReplaced } from '../src/bot-host/own-values.js';
import { Pulse } from '../src/bot-host/pulse.js';
import { UsageMeter } from '../src/bot-host/usage.js';
import { refuseWaitingFiles } from '../src/bot-host/waiting-files.js';
import type { BotKind } from '../src/bot-sdk/index.js';
import { keepForBots } from '../src/shared/bot-environment.js';
import { encodeBatch } from '../src/shared/contract/batch.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  KindFailure,
  LateError,
} from '../src/shared/contract/host-messages.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type { HostControlMethods, HostMethods, HostStart } from '../src/shared/contract/threads.js';
import { CommandLog } from '../src/shared/memory/command-log.js';
import { Heartbeat } from '../src/shared/memory/heartbeat.js';
import { InFlight } from '../src/shared/memory/in-flight.js';
import { LastRun } from '../src/shared/memory/last-run.js';
import type { SharedLease } from '../src/shared/memory/lease-deadline.js';
import { LoopLag } from '../src/shared/memory/loop-lag.js';
import { Quota } from '../src/shared/memory/quota.js';
// Not used here: it takes process.kill before that is taken from bots.
import '../src/shared/process-group.js';
import { ownThread, threadTimes } from '../src/shared/thread-waits.js';

/** What differs between a thread and a process. */
export interface HostCarrier {
  /** A bot may end it: nothing else runs there. */
  mayEnd: boolean;
  /** Code runs again. Called before main is told. */
  woke(): void;
  /** The code of another run begins, 0 for that of none. */
  ranRun(run: number): void;
  /** A command is about to run. */
  ranCommand(): void;
  /** Packs a batch of events. */
  encode: typeof encodeBatch;
}

const THREAD: HostCarrier = {
  mayEnd: false,
  woke() {},
  ranRun() {},
  ranCommand() {},
  encode: encodeBatch,
};

/** Resolves after `shutdown`. A crash of the thread rejects main's promise for the task. */
export default function runHost(start: HostStart): Promise<void> {
  return hostBots(start, THREAD);
}

/** The same for any carrier. */
export async function hostBots(start: HostStart, carrier: HostCarrier): Promise<void> {
  // A thread has its own copy of the environment.
  keepForBots(process.env, start.env);
  const fence = start.lease && (await fenceOf(start.lease));
  return await new Promise((resolve, reject) => {
    const filesOf = useSources({ kept: start.sources, notes: start.notesFiles });
    const loaded = new Map<string, BotKind>();
    const kinds = new Map<string, BotKind>();
    const streams = new Quota(start.streams, 0);
    const outbox = new Outbox(
      start.events,
      new InFlight(start.inFlight),
      start.inFlightLimit,
      () => streams.total() > 0,
      carrier.encode,
    );
    // Called by the inspector in a thread that hangs (src/shared/stack-capture.ts), and when a bot ends the thread.
    const postItems = (): void => outbox.flush();
    Object.defineProperty(globalThis, Symbol.for('drover.postItems'), {
      value: postItems,
      configurable: true,
    });
    const commands = new CommandLog(start.commandLog);
    const log = {
      note(command: string, bot: string): void {
        commands.note(command, bot);
        carrier.ranCommand();
      },
    };
    const thread = ownThread();
    const usage = new UsageMeter({
      report: (report) => main.tell('used', report),
      connections: openByRun,
      times: () => threadTimes(thread),
    });
    const childUsage = new ChildUsage({
      children: childrenByRun,
      report: (report) => main.tell('used', report),
    });
    watchChildren(() => childUsage.note());
    const events = {
      exited: (exit: BotExit) => main.tell('exited', exit),
      settled: (run: number) => main.tell('settled', { run }),
      lateError: (error: LateError) => main.tell('lateError', error),
      flooded: (flood: BotFlood) => main.tell('flooded', flood),
      wrote: (run: number, bytes: number) => usage.wrote(run, bytes),
      offered: (offer: CommandOffer) => main.tell('offered', offer),
      kindFailed: (failure: KindFailure) => main.tell('kindFailed', failure),
    };
    const host = new BotHost(kinds, outbox, start, events, log, fence);
    const fronts = new FrontCommands(host, start.commandTimeoutMs);
    const lastRun = new LastRun(start.lastRun);
    const heartbeat = new Heartbeat(start.heartbeat);
    heartbeat.thread = thread;
    const pulse = new Pulse({
      heartbeat,
      lag: new LoopLag(start.lag),
      limit: start.maxHeapMb * 2 ** 20,
      usage,
      woke() {
        carrier.woke();
        main.tell('awake', null);
      },
    });
    watchRuns(pulse.note, (run) => {
      lastRun.set(run);
      carrier.ranRun(run);
      usage.change(run);
    });
    const leftBehind = start.notesResources ? new LeftBehindList() : undefined;
    leftBehind?.start();
    const methods: Serves<HostMethods> = {
      async load({ module }) {
        const code: KindCode = {
          id: null,
          number: 0,
          isGone: false,
          fail(thrown) {
            const kind = loaded.get(module);
            // While it loads, it is the host that tells of it: nothing else runs there.
            if (kind) host.failKind(kind, thrown);
            else broke(thrown);
          },
        };
        const info = await runAsBot(code, () =>
          loadModule(
            module,
            loaded,
            (url) => importKind(url, start.programs, start.env),
            (url) => filesOf([url]).imports[url] ?? [url],
          ),
        );
        const kind = loaded.get(module);
        if (kind) noteKindCode(kind, code);
        return info;
      },
      readFiles: ({ modules }) => filesOf(modules),
      use({ modules }) {
        for (const module of modules) {
          const kind = loaded.get(module);
          if (kind) kinds.set(kind.kind, kind);
        }
      },
      attachEvents({ port, inFlight }) {
        outbox.attach(port, new InFlight(inFlight));
        return { bots: host.states() };
      },
      start: (input) => host.startAll(input),
      exemptFromLease: (input) => host.exemptFromLease(input),
      stop: (input) => host.stop(input),
      setPermit: (input) => host.setPermit(input),
      attachFront: ({ port }) => fronts.attach(port),
      leftBehind: ({ withinMs }) => leftBehind?.list(withinMs) ?? [],
      open: openByKind,
      drill: ({ fault }) => causeFault(fault),
      shutdown() {
        endChildren();
        pulse.stop();
        fronts.close();
        outbox.close();
        start.control.close();
        resolve();
      },
    };
    const main = new Rpc<HostMethods, HostControlMethods>(start.control, methods);
    // Not earlier: it tells main.
    pulse.note();

    // An error in the host's own code: its state cannot be trusted any more.
    const broke = (thrown: unknown): void => {
      outbox.flush();
      reject(thrown);
    };
    process.on('exit', postItems);
    process.on('worker', noteWorker);
    captureConsole(console);
    captureWrites(process.stdout, 'stdout', 'info');
    captureWrites(process.stderr, 'stderr', 'warn');
    ownProcess(broke, carrier.mayEnd);
    ownCallbacks();
    ownProperty(Error, 'prepareStackTrace');
    ownReplaced();
    if (!carrier.mayEnd) {
      ownEnvironment();
      hidePort();
      refuseCalls();
    }
    guardDescriptors();
    muteSharedEvents();
    if (!carrier.mayEnd) refuseWaitingFiles();
    noteOpeners();
    fixGlobals();
    publishGuards();
  });
}

/** Loaded in a cluster only. */
async function fenceOf(lease: SharedLease): Promise<LeaseFence> {
  const { LeaseFence } = await import('../src/bot-host/fence.js');
  return new LeaseFence(lease);
}
