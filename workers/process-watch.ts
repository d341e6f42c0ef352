// Entry of the watch thread of a bot host process: wiring only. It ends the process with the service, also when the main thread
// hangs.

import { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { type FromMain, ProcessWatch, type WatchedCells } from '../src/bot-host/process-watch.js';
import { FD } from '../src/shared/pipe/messages.js';
import { captureMainThread } from '../src/shared/stack-capture.js';

if (!parentPort) throw new Error('workers/process-watch runs in a worker thread only');
const pipe = new Socket({ fd: FD.watch, readable: true, writable: true });
const watch = new ProcessWatch(workerData as WatchedCells, pipe, captureMainThread);
parentPort.on('message', (message: FromMain) => watch.note(message));
pipe.on('data', (chunk: Buffer) => watch.receive(chunk));
pipe.on('error', () => {});
// The service is gone. This process leads its group, in which its own child processes are.
pipe.on('close', () => process.kill(-process.pid, 'SIGKILL'));
parentPort.postMessage('ready');
