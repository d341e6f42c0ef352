// Runs in tabs. Owns the way to the hub: a shared worker; where there is none the tab that leads, to which the others speak
// over a BroadcastChannel; where there are no locks either (a page over plain http on a phone) a hub of the tab's own.

import { Hub } from './hub.js';
import workerUrl from './hub-worker.ts?sharedworker&url';
import type { Inheritance, Port, ToHub, ToTab } from './messages.js';

/** The page's policy lets no text become an address of a script but through this. */
const scripts = globalThis.trustedTypes?.createPolicy('drover', {
  createScriptURL: (url: string) => {
    if (url !== workerUrl) throw new TypeError(`${url} is no script of this page`);
    return url;
  },
});

const CHANNEL = 'drover-hub';

export type Link = Port<ToHub, ToTab>;

/**
 * @param receive what the hub says. @param renewed called when another hub has taken over: it knows nothing of this tab, which
 * is to say hello again. @param inheritance what this tab has, for a hub that is to go on with it.
 */
export function openLink(
  receive: (message: ToTab) => void,
  renewed: () => void,
  inheritance: () => Inheritance | undefined,
): Link {
  if (typeof SharedWorker !== 'undefined') return workerLink(receive);
  // They exist on secure pages only.
  if (typeof navigator.locks !== 'undefined' && typeof BroadcastChannel !== 'undefined') {
    return leaderLink(receive, renewed, inheritance);
  }
  return ownLink(receive);
}

function workerLink(receive: (message: ToTab) => void): Link {
  const url = (scripts?.createScriptURL(workerUrl) ?? workerUrl) as string;
  const { port } = new SharedWorker(url, { type: 'module', name: 'drover' });
  port.onmessage = ({ data }) => receive(data as ToTab);
  return { send: (message) => port.postMessage(message), receive };
}

function ownLink(receive: (message: ToTab) => void): Link {
  const link: Link = { send: () => {}, receive };
  const port: Port<ToTab, ToHub> = {
    send: (message) => queueMicrotask(() => receive(message)),
    receive: () => {},
  };
  new Hub(location.origin).attach(port);
  link.send = (message) => port.receive(message);
  return link;
}

/** What goes over the channel. All tabs hear all; `to` says whose it is. */
type Envelope =
  | { to: 'hub'; from: string; message: ToHub }
  | { to: string; message: ToTab }
  | { to: 'all'; leader: string };

function leaderLink(
  receive: (message: ToTab) => void,
  renewed: () => void,
  inheritance: () => Inheritance | undefined,
): Link {
  const me = `${Date.now()}-${Math.random()}`;
  const channel = new BroadcastChannel(CHANNEL);
  const post = (envelope: Envelope): void => channel.postMessage(envelope);
  const link: Link = { send: (message) => post({ to: 'hub', from: me, message }), receive };
  let hub: Hub | undefined;
  const ports = new Map<string, Port<ToTab, ToHub>>();
  const portOf = (tab: string): Port<ToTab, ToHub> => {
    let port = ports.get(tab);
    if (!port) {
      port = {
        send: (message) =>
          tab === me ? queueMicrotask(() => receive(message)) : post({ to: tab, message }),
        receive: () => {},
      };
      ports.set(tab, port);
      hub?.attach(port);
    }
    return port;
  };
  channel.onmessage = ({ data }) => {
    const envelope = data as Envelope;
    if (envelope.to === me) receive((envelope as { message: ToTab }).message);
    else if ('leader' in envelope) renewed();
    else if (envelope.to === 'hub' && hub) {
      const { from, message } = envelope as { from: string; message: ToHub };
      portOf(from).receive(message);
      if (message.type === 'bye') ports.delete(from);
    }
  };
  // Held until the tab ends: then the next one in line leads, and begins anew.
  void navigator.locks.request(CHANNEL, () => {
    hub = new Hub(location.origin, inheritance());
    link.send = (message) => portOf(me).receive(message);
    post({ to: 'all', leader: me });
    renewed();
    return new Promise(() => {});
  });
  return link;
}
