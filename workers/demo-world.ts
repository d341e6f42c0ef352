// Runs as the demo world's thread. Owns nothing but the wiring between its parent and the server.

import { parentPort } from 'node:worker_threads';
import type { FromDemoWorld, ToDemoWorld } from '../src/kinds/demo-world/messages.js';
import { startDemoWorld } from '../src/kinds/demo-world/server.js';
import { messageOf } from '../src/shared/errors.js';

if (!parentPort) throw new Error('this file is started as a worker thread');
const parent = parentPort;
const report = (message: FromDemoWorld) => parent.postMessage(message);

try {
  const world = await startDemoWorld();
  parent.on('message', async (message: ToDemoWorld) => {
    if (message.type !== 'close') return;
    await world.close();
    // The last thing that keeps the thread alive.
    parent.close();
  });
  report({ type: 'listening', httpUrl: world.httpUrl, tcpPort: world.tcpPort });
} catch (error) {
  report({ type: 'failed', message: messageOf(error) });
}
