// Deletes the streams and buckets of a cluster from NATS servers that continue to run.

import { connect, jetstreamManager } from '../../cluster/wire/nats.js';
import { natsOptions } from '../../cluster/wire/nats-options.js';

const DIAL_MS = 3000;

/** @param name of the cluster; all its streams and buckets go. */
export async function removeCluster(servers: string[], name: string): Promise<void> {
  const options = natsOptions({
    name,
    servers,
    credentials: null,
    tls: { ca: null, cert: null, key: null },
  });
  const connection = await connect({ ...options, timeout: DIAL_MS, reconnect: false });
  try {
    const { streams } = await jetstreamManager(connection);
    const own = [`drover-${name}-`, `KV_drover-${name}-`];
    for await (const stream of streams.names()) {
      if (own.some((start) => stream.startsWith(start))) await streams.delete(stream);
    }
  } finally {
    await connection.close();
  }
}
