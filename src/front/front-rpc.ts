import type { Serves } from '../shared/contract/rpc.js';
import type { Bound, FrontMethods } from '../shared/contract/threads.js';
import type { Front } from './front.js';
import { blockNext } from './http/running-request.js';
import type { Listener } from './requests/listener.js';

const DRILL_AFTER_MS = 50;

/** The parts that main's calls act on, beside the front. */
export interface FrontMethodsParts {
  listener: Listener;
  /** The facts about the engine that main needs. */
  engine: Omit<Bound, 'port'>;
  end: () => void;
}

/** The methods of a front that main calls. */
export function frontMethods(front: Front, parts: FrontMethodsParts): Serves<FrontMethods> {
  const { auth, views } = front;
  const { listener, engine, end } = parts;
  return {
    attachBroadcaster: ({ port }) => views.self.broadcaster.attach(port),
    attachJournal: ({ port }) => views.self.journal.attach(port),
    detachHost: ({ host }) => front.hosts.detachHost(host),
    async listen(request) {
      front.port = await listener.listen(request);
      return { port: front.port, ...engine };
    },
    prepareTls: (files) => listener.prepareTls(files),
    commitTls: () => listener.commitTls(),
    rollbackTls: () => listener.rollbackTls(),
    addToken: ({ token }) => auth.add(token),
    removeToken({ id }) {
      auth.remove(id);
      front.streams.end(id);
    },
    pressure({ shortage }) {
      front.admission.shortage = shortage;
    },
    attachCluster: (cluster) => views.attachCluster(cluster),
    detachCluster: () => views.detachCluster(),
    clusterState: (state) => views.tellState(state),
    crowded(addresses) {
      front.connections.crowd = addresses;
    },
    async close({ head, withinMs }) {
      listener.stop();
      await views.finish(head, withinMs);
      end();
    },
    drill() {
      // The response to the request for the drill may go through this front: let it leave first.
      setTimeout(() => {
        throw new Error('a drill');
      }, DRILL_AFTER_MS);
    },
    block: blockNext,
  };
}
