// Entry of the shared worker: one hub for all tabs of the browser. Its name is the address of the service.

import { Hub } from './hub.js';
import type { Port, ToHub, ToTab } from './messages.js';

/** TypeScript's DOM library has no types for the shared worker's global scope. */
declare const self: { onconnect: (event: MessageEvent) => void; name: string };

const hub = new Hub(self.name);

self.onconnect = ({ ports: [channel] }) => {
  if (!channel) return;
  const port: Port<ToTab, ToHub> = {
    send: (message) => channel.postMessage(message),
    receive: () => {},
  };
  hub.attach(port);
  channel.onmessage = ({ data }) => port.receive(data as ToHub);
};
