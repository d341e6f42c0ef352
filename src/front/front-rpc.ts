import type { HostCommands } from '../shared/commands/host-commands.js';
import type { Serves } from '../shared/contract/rpc.js';
import type { Bound, FrontMethods } from '../shared/contract/threads.js';
import type { Authenticator } from './access/auth.js';
import type { TokenStreams } from './access/token-streams.js';
import { blockNext } from './http/running-request.js';
import type { Connections } from './requests/connections.js';
import type { Listener } from './requests/listener.js';
import type { StreamAdmission } from './routes/stream-route.js';
import type { Views } from './views/views.js';

const DRILL_AFTER_MS = 50;

/** What main's calls act on. */
export interface FrontMethodsParts {
  listener: Listener;
  /** What main needs to know of the engine. */
  engine: Omit<Bound, 'port'>;
  views: Views;
  hosts: Pick<HostCommands, 'detachHost'>;
  auth: Pick<Authenticator, 'add' | 'remove'>;
  streams: Pick<TokenStreams, 'end'>;
  admission: StreamAdmission;
  connections: Pick<Connections, 'crowd'>;
  /** Ends the thread. */
  end: () => void;
}

/** What a front does for main. */
export function frontMethods(parts: FrontMethodsParts): Serves<FrontMethods> {
  const { listener, auth, views } = parts;
  return {
    attachBroadcaster: ({ port }) => views.self.broadcaster.attach(port),
    attachJournal: ({ port }) => views.self.journal.attach(port),
    detachHost: ({ host }) => parts.hosts.detachHost(host),
    listen: async (request) => ({ port: await listener.listen(request), ...parts.engine }),
    prepareTls: (files) => listener.prepareTls(files),
    commitTls: () => listener.commitTls(),
    rollbackTls: () => listener.rollbackTls(),
    addToken: ({ token }) => auth.add(token),
    removeToken({ id }) {
      auth.remove(id);
      parts.streams.end(id);
    },
    pressure({ shortage }) {
      parts.admission.shortage = shortage;
    },
    attachCluster: (cluster) => views.attachCluster(cluster),
    detachCluster: () => views.detachCluster(),
    clusterState: (state) => views.tellState(state),
    crowded(addresses) {
      parts.connections.crowd = addresses;
    },
    async close({ head, withinMs }) {
      listener.stop();
      await views.finish(head, withinMs);
      parts.end();
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
