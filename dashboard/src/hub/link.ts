// Runs in tabs. Owns which way to the hub there is: a shared worker; where there is none the tab that leads (leader-link.ts);
// where there are no locks either (a page over plain http on a phone) a hub of the tab's own.

import { Hub } from './hub.js';
import workerUrl from './hub-worker.ts?sharedworker&url';
import { LeaderLink, type LinkOptions } from './leader-link.js';
import type { Port, ToHub, ToTab } from './messages.js';

/** The page's policy lets no text become an address of a script but through this. */
const scripts = globalThis.trustedTypes?.createPolicy('drover', {
  createScriptURL: (url: string) => {
    if (url !== workerUrl) throw new TypeError(`${url} is no script of this page`);
    return url;
  },
});

export type Link = Port<ToHub, ToTab>;

export function openLink(options: LinkOptions): Link {
  return typeof SharedWorker === 'undefined' ? linkWithoutWorker(options) : workerLink(options);
}

function linkWithoutWorker(options: LinkOptions): Link {
  // They exist on secure pages only.
  const canLead = typeof navigator.locks !== 'undefined' && typeof BroadcastChannel !== 'undefined';
  return canLead ? new LeaderLink(options) : ownLink(options);
}

function workerLink(options: LinkOptions): Link {
  const { receive, renewed } = options;
  const url = (scripts?.createScriptURL(workerUrl) ?? workerUrl) as string;
  let worker: SharedWorker;
  try {
    worker = new SharedWorker(url, { type: 'module', name: 'drover' });
  } catch {
    // Not allowed here.
    return linkWithoutWorker(options);
  }
  const { port } = worker;
  const link: Link = { send: (message) => port.postMessage(message), receive };
  let isThere = false;
  port.onmessage = ({ data }) => {
    isThere = true;
    receive(data as ToTab);
  };
  worker.onerror = () => {
    // Once it runs an error of it is no reason to leave it.
    if (isThere) return;
    port.close();
    const other = linkWithoutWorker(options);
    link.send = (message) => other.send(message);
    renewed();
  };
  return link;
}

function ownLink({ receive }: LinkOptions): Link {
  const link: Link = { send: () => {}, receive };
  const port: Port<ToTab, ToHub> = {
    send: (message) => queueMicrotask(() => receive(message)),
    receive: () => {},
  };
  new Hub(location.origin).attach(port);
  link.send = (message) => port.receive(message);
  return link;
}
