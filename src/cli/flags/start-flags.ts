import { type Command, Option } from 'commander';
import type { Flags } from '../../main/environment/load-config.js';
import { labels, wholeNumber } from './flag-values.js';

export interface StartFlags {
  config?: string;
  host?: string;
  port?: number;
  dataDir?: string;
  fronts?: number;
  engine?: string;
  botHosts?: number;
  kinds?: string[];
  safe?: boolean;
  watch?: boolean;
  bots?: boolean;
  demo?: boolean;
  fleet?: string;
  clusterServers?: string[];
  clusterName?: string;
  clusterNode?: string;
  clusterLabels?: Record<string, string>;
  clusterCredentials?: string;
  clusterTlsCa?: string;
  clusterTlsCert?: string;
  clusterTlsKey?: string;
  clusterSecretKeyFile?: string;
}

export function withStartFlags(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file (JSON); docs/CONFIGURATION.md lists its keys')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'TCP port; 0 selects a free one', wholeNumber)
    .option('--data-dir <directory>', 'directory for the PIN file, the stores and the journal')
    .option('--fronts <number>', 'number of front threads, which share the port', wholeNumber)
    .addOption(new Option('--engine <name>', 'HTTP engine').choices(['auto', 'uws', 'node']))
    .option('--bot-hosts <number>', 'number of threads that run bots', wholeNumber)
    .option('--kinds <place...>', 'directories or packages with additional bot kinds')
    .option('--watch', 'roll out a file of a kind as soon as it is saved, for development')
    .option('--safe', 'do not start the bots that requests started most recently')
    .option('--no-bots', 'start no bots')
    .option('--no-demo', 'start without the demo world and its bots')
    .option(
      '--fleet <file>',
      'fleet file that the service keeps its bots to; SIGHUP reads it again',
    )
    .option('--cluster-servers <address...>', 'NATS servers; makes the service a node of a cluster')
    .option('--cluster-name <name>', 'name of the cluster')
    .option('--cluster-node <name>', 'name of this node; default: the host name')
    .option('--cluster-labels <name=value>', 'labels of this node (comma-separated)', labels)
    .option('--cluster-credentials <file>', 'NATS credentials file')
    .option('--cluster-tls-ca <file>', 'CA certificate of the NATS servers')
    .option('--cluster-tls-cert <file>', 'client certificate for the NATS servers')
    .option('--cluster-tls-key <file>', 'its key')
    .option('--cluster-secret-key-file <file>', 'key that encrypts the secrets of bots');
}

/** The flags as configuration keys. */
export function startFlagsOf(options: StartFlags): Flags {
  const flags: Flags = {};
  const set = (
    key: string,
    value: string | number | string[] | Record<string, string> | undefined,
  ): void => {
    if (value !== undefined) flags[key] = value;
  };
  set('http.host', options.host);
  set('http.port', options.port);
  set('engine', options.engine);
  set('http.fronts', options.fronts);
  set('hosts.count', options.botHosts);
  set('data_dir', options.dataDir);
  set('kinds', options.kinds);
  set('fleet', options.fleet);
  set('cluster.servers', options.clusterServers);
  set('cluster.name', options.clusterName);
  set('cluster.node', options.clusterNode);
  set('cluster.labels', options.clusterLabels);
  set('cluster.credentials', options.clusterCredentials);
  set('cluster.tls.ca', options.clusterTlsCa);
  set('cluster.tls.cert', options.clusterTlsCert);
  set('cluster.tls.key', options.clusterTlsKey);
  set('cluster.secret_key_file', options.clusterSecretKeyFile);
  if (options.safe) set('start.bots', 'safe');
  if (options.bots === false) set('start.bots', 'none');
  if (options.demo === false) flags['demo.enabled'] = false;
  if (options.watch) flags['watch'] = true;
  return flags;
}
