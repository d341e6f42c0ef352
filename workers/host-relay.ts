// Entry of the relay thread: wiring only. It stands between the service and its bot host processes, and runs no bot's code.

import { parentPort } from 'node:worker_threads';
import { ProcessHost } from '../src/host-relay/process-host.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import { messageOf } from '../src/shared/errors.js';
import type { RelayControlMethods, RelayMethods } from '../src/shared/pipe/messages.js';

if (!parentPort) throw new Error('workers/host-relay runs in a worker thread only');
const hosts = new Map<number, ProcessHost>();

const methods: Serves<RelayMethods> = {
  open({ link, start, limits }) {
    const ended = (end: Parameters<RelayControlMethods['ended']>[0]['end']): void => {
      hosts.delete(link);
      main.tell('ended', { link, end });
    };
    try {
      const host = new ProcessHost(start, limits, ended);
      hosts.set(link, host);
      if (host.pid !== undefined) main.tell('started', { link, pid: host.pid });
    } catch (thrown) {
      const failure = { message: `it could not be started: ${messageOf(thrown)}`, stack: null };
      ended({ code: null, signal: null, isDone: false, failure, stderr: [] });
    }
  },
  capture: async ({ link, withinMs }) => (await hosts.get(link)?.capture(withinMs)) ?? null,
  kill: ({ link }) => hosts.get(link)?.kill(),
  leaseChanged() {
    for (const host of hosts.values()) host.tellLease();
  },
};
const main = new Rpc<RelayMethods, RelayControlMethods>(parentPort, methods);
