// Entry of the demo world's thread: wiring only.

import { parentPort } from 'node:worker_threads';
import type { DemoWorldMethods } from '../src/kinds/demo-world/messages.js';
import { startDemoWorld } from '../src/kinds/demo-world/server.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import { DroverError, messageOf } from '../src/shared/errors.js';

if (!parentPort) throw new Error('workers/demo-world runs in a worker thread only');
const main = parentPort;
let world: ReturnType<typeof startDemoWorld> | undefined;

const methods: Serves<DemoWorldMethods> = {
  async listen() {
    try {
      world = startDemoWorld();
      const { httpUrl } = await world;
      return { httpUrl };
    } catch (thrown) {
      // Only a DroverError keeps its message on the way to main.
      throw new DroverError('internal', messageOf(thrown));
    }
  },
  async close() {
    await world?.then((server) => server.close()).catch(() => {});
    // The last thing that keeps the thread alive.
    main.close();
  },
};
new Rpc<DemoWorldMethods, never>(main, methods);
