// Runs in the command line. What `drover doctor` finds about the NATS servers of a cluster. Loaded only when one is configured.

import { randomBytes } from 'node:crypto';
import { Secrets } from '../../cluster/control/secrets.js';
import { replicasOf } from '../../cluster/wire/names.js';
import {
  connect,
  jetstreamManager,
  type NatsConnection,
  StorageType,
} from '../../cluster/wire/nats.js';
import { natsOptions } from '../../cluster/wire/nats-options.js';
import { isEnough, NEEDED_NATS, natsRisk } from '../../cluster/wire/nats-version.js';
import { reasonOf } from '../../cluster/wire/reasons.js';
import type { Config } from '../../shared/contract/config.js';
import { StartupError } from '../../shared/errors.js';

const DIAL_MS = 5000;
/** Timestamps of events would not be in the order of the events. Leases do not depend on it. */
const MAX_SKEW_MS = 1000;

export interface ClusterFinding {
  result: 'ok' | 'warn' | 'fail';
  message: string;
}

/** Reports what is wrong, or else what was found. */
export async function checkCluster(config: Config['cluster']): Promise<ClusterFinding> {
  let connection: NatsConnection | undefined;
  try {
    const keyFile = config.secret_key_file;
    // Reads the key.
    new Secrets({ cluster: config.name, keyFile }, { withoutSecrets: (_kind, own) => own });
    const options = natsOptions(config);
    connection = await connect({ ...options, timeout: DIAL_MS, reconnect: false });
    return await checkServer(connection, config);
  } catch (thrown) {
    const message = thrown instanceof StartupError ? thrown.message : reasonOf(thrown);
    return { result: 'fail', message };
  } finally {
    await connection?.close();
  }
}

async function checkServer(
  connection: NatsConnection,
  config: Config['cluster'],
): Promise<ClusterFinding> {
  const { version = '' } = connection.info ?? {};
  if (!isEnough(version)) {
    return {
      result: 'fail',
      message: `NATS ${version} is too old; install ${NEEDED_NATS} or later`,
    };
  }
  const skewMs = await clockSkew(connection, config.name);
  const text = `NATS ${version} with JetStream at ${connection.getServer()}`;
  if (Math.abs(skewMs) > MAX_SKEW_MS) {
    const which = skewMs > 0 ? 'ahead of' : 'behind';
    const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
    return {
      result: 'warn',
      message: `${text}; the clock of this machine is ${seconds} s ${which} its clock; run NTP on both`,
    };
  }
  const risk = natsRisk(version, replicasOf(config));
  if (risk !== null) return { result: 'warn', message: risk };
  if (config.accept_unsigned) {
    return {
      result: 'warn',
      message: `${text}; cluster.accept_unsigned is on, so anyone who can reach NATS controls the cluster; switch it off when all nodes have the key`,
    };
  }
  if (config.secret_key_file !== null) return { result: 'ok', message: text };
  return {
    result: 'warn',
    message: `${text}; without cluster.secret_key_file, anyone who can reach NATS controls the cluster, and bots with secrets do not move to other nodes`,
  };
}

/**
 * How far this clock is ahead of the server's, in ms. NATS 2.9 tells its time only for what is created, so a stream in memory is created for
 * a moment. That also shows that this user may create streams, which the service has to.
 */
async function clockSkew(connection: NatsConnection, name: string): Promise<number> {
  const { streams } = await jetstreamManager(connection);
  const id = randomBytes(6).toString('hex');
  const stream = `drover-${name}-doctor-${id}`;
  const before = Date.now();
  const { created } = await streams.add({
    name: stream,
    subjects: [`drover.${name}.doctor.${id}`],
    storage: StorageType.Memory,
    max_msgs: 1,
  });
  const after = Date.now();
  await streams.delete(stream);
  const server = Date.parse(created);
  // A difference below the duration of the request means nothing.
  if (server < before) return before - server;
  return server > after ? after - server : 0;
}
