// Runs in tabs. Connects the tab to a hub: in a shared worker; else in the leader tab (leader-link.ts); without Web Locks (a
// page over plain http) in the tab itself.

import { Hub } from './hub.js';
import workerUrl from './hub-worker.ts?sharedworker&url';
import { LeaderLink, type LinkOptions } from './leader-link.js';
import type { Port, ToHub, ToTab } from './messages.js';
import { scriptUrl } from './script-url.js';
import { serviceUrl } from './service-address.js';

export type Link = Port<ToHub, ToTab>;

export function openLink(options: LinkOptions): Link {
  return typeof SharedWorker === 'undefined' ? linkWithoutWorker(options) : workerLink(options);
}

function linkWithoutWorker(options: LinkOptions): Link {
  // Available on secure pages only.
  const canLead = typeof navigator.locks !== 'undefined' && typeof BroadcastChannel !== 'undefined';
  return canLead ? new LeaderLink(options) : localLink(options);
}

function workerLink(options: LinkOptions): Link {
  const { receive, renewed } = options;
  const url = scriptUrl(workerUrl);
  let worker: SharedWorker;
  try {
    worker = new SharedWorker(url, { type: 'module', name: serviceUrl() });
  } catch {
    // Blocked by the browser.
    return linkWithoutWorker(options);
  }
  const { port } = worker;
  const link: Link = { send: (message) => port.postMessage(message), receive };
  let isRunning = false;
  port.onmessage = ({ data }) => {
    isRunning = true;
    receive(data as ToTab);
  };
  worker.onerror = () => {
    // A running worker survives an error.
    if (isRunning) return;
    port.close();
    const other = linkWithoutWorker(options);
    link.send = (message) => other.send(message);
    renewed();
  };
  return link;
}

function localLink({ receive }: LinkOptions): Link {
  const link: Link = { send: () => {}, receive };
  const port: Port<ToTab, ToHub> = {
    send: (message) => queueMicrotask(() => receive(message)),
    receive: () => {},
  };
  new Hub(serviceUrl()).attach(port);
  link.send = (message) => port.receive(message);
  return link;
}
