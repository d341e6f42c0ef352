// Entry of the shared worker: wiring only. One for all tabs of the browser; it ends with the last of them.

import { Hub } from './hub.js';
import type { Port, ToHub, ToTab } from './messages.js';

/** What TypeScript's DOM library has not, because it is for windows. */
declare const self: { onconnect: (event: MessageEvent) => void; location: Location };

const hub = new Hub(self.location.origin);

self.onconnect = ({ ports: [channel] }) => {
  if (!channel) return;
  const port: Port<ToTab, ToHub> = {
    send: (message) => channel.postMessage(message),
    receive: () => {},
  };
  hub.attach(port);
  channel.onmessage = ({ data }) => port.receive(data as ToHub);
};
