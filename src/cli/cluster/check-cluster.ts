// Runs in the command line. What `drover doctor` finds about the NATS servers of a cluster. Loaded only when one is configured.

import { randomBytes } from 'node:crypto';
import { Secrets } from '../../main/cluster/secrets.js';
import {
  connect,
  jetstreamManager,
  type NatsConnection,
  StorageType,
} from '../../shared/cluster/nats.js';
import { natsOptions } from '../../shared/cluster/nats-options.js';
import { reasonOf } from '../../shared/cluster/reasons.js';
import type { Config } from '../../shared/contract/config.js';
import { StartupError } from '../../shared/errors.js';

const DIAL_MS = 5000;
const MIN_VERSION = [2, 9] as const;
/** Timestamps of events would not be in the order of the events. Leases do not depend on it. */
const MAX_SKEW_MS = 1000;

export interface ClusterFinding {
  result: 'ok' | 'warn' | 'fail';
  message: string;
}

/** Says what is wrong, and otherwise what it found. */
export async function checkCluster(config: Config['cluster']): Promise<ClusterFinding> {
  let connection: NatsConnection | undefined;
  try {
    const keyFile = config.secret_key_file;
    // Reads the key.
    new Secrets({ cluster: config.name, keyFile }, { withoutSecrets: (_kind, own) => own });
    const options = natsOptions(config);
    connection = await connect({ ...options, timeout: DIAL_MS, reconnect: false });
    return await checkServer(connection, config.name, keyFile !== null);
  } catch (thrown) {
    const message = thrown instanceof StartupError ? thrown.message : reasonOf(thrown);
    return { result: 'fail', message };
  } finally {
    await connection?.close();
  }
}

async function checkServer(
  connection: NatsConnection,
  name: string,
  hasKey: boolean,
): Promise<ClusterFinding> {
  const { version = '' } = connection.info ?? {};
  if (!isEnough(version)) {
    const wanted = MIN_VERSION.join('.');
    return { result: 'fail', message: `NATS ${version} is too old; install ${wanted} or later` };
  }
  const skewMs = await clockSkew(connection, name);
  const text = `NATS ${version} with JetStream at ${connection.getServer()}`;
  if (Math.abs(skewMs) > MAX_SKEW_MS) {
    const which = skewMs > 0 ? 'ahead of' : 'behind';
    const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
    return {
      result: 'warn',
      message: `${text}; the clock of this machine is ${seconds} s ${which} its clock; run NTP on both`,
    };
  }
  if (hasKey) return { result: 'ok', message: text };
  return {
    result: 'warn',
    message: `${text}; without cluster.secret_key_file, bots with secrets do not move to other nodes`,
  };
}

export function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = MIN_VERSION;
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/**
 * How far this clock is ahead of the server's, in ms. NATS 2.9 says its time only of what is created, so a stream in memory is, for a
 * moment. It shows also that this user may create streams, as the service has to.
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
  // Within the time that the request took, nothing is known.
  if (server < before) return before - server;
  return server > after ? after - server : 0;
}
