// The options of the NATS client from the configuration of the cluster. In main and in the bus thread.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { messageOf, StartupError } from '../../shared/errors.js';
import type { ClusterConfig } from './bus-messages.js';
import {
  type Authenticator,
  type ConnectionOptions,
  createInbox,
  credsAuthenticator,
  type NatsConnection,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from './nats.js';

export type NatsConfig = Pick<ClusterConfig, 'name' | 'servers' | 'credentials' | 'tls'>;

const SERVER = /^(?:(nats|tls):\/\/)?(?:([^@/]*)@)?([^@/]+)\/?$/;

interface ServerUrl {
  host: string;
  isTls: boolean;
  /** `user:password`, or a token. */
  login: string | null;
}

/** @throws StartupError that names what is wrong with the configuration: an address, or a file that cannot be read. */
export function natsOptions(config: NatsConfig): ConnectionOptions {
  const servers = config.servers.map(parseServer);
  const authenticator = authenticatorOf(config, servers);
  const tls = tlsOf(config, servers);
  return {
    servers: servers.map(({ host }) => host),
    // The prefix is random, so that other programs cannot guess it: JetStream's answers are not signed.
    inboxPrefix: `drover.${config.name}.inbox.${randomUUID()}`,
    ...(authenticator ? { authenticator } : {}),
    ...tls,
  };
}

/** A new inbox of this connection, as its client makes them. */
export function newInbox(connection: NatsConnection): string {
  const { options } = connection as NatsConnection & { options?: ConnectionOptions };
  return createInbox(options?.inboxPrefix);
}

function parseServer(url: string): ServerUrl {
  const [, scheme, login, host] = SERVER.exec(url) ?? [];
  // The message leaves out the address, because it may hold a password.
  if (!host || !/^(\[[^\]]+\]|[^:[\]]+)(:\d+)?$/.test(host))
    throw new StartupError(
      'an address in cluster.servers is not understood; write nats://host:4222, nats://user:password@host:4222 or tls://host:4222',
    );
  return { host, isTls: scheme === 'tls', login: login ?? null };
}

function authenticatorOf(config: NatsConfig, servers: ServerUrl[]): Authenticator | null {
  if (config.credentials !== null) return authenticatorFromFile(config.credentials);
  const logins = new Set(servers.map(({ login }) => login).filter((login) => login !== null));
  // The client does not tell which server it logs in to; servers of one NATS cluster have the same users.
  if (logins.size > 1)
    throw new StartupError('the addresses in cluster.servers have different users or passwords');
  const [login] = logins;
  if (!login) return null;
  const [user, password] = login.split(/:(.*)/s).map(decode);
  return password === undefined
    ? tokenAuthenticator(user ?? '')
    : usernamePasswordAuthenticator(user ?? '', password);
}

/** A login may have any characters, percent-encoded or not. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads the file again at each login: credentials are renewed while the service runs. */
function authenticatorFromFile(path: string): Authenticator {
  let last = readFile('cluster.credentials', path);
  const authenticate = credsAuthenticator(() => last);
  try {
    authenticate('a nonce');
  } catch {
    throw new StartupError(`${path} (cluster.credentials) is not a NATS credentials file`);
  }
  return (nonce) => {
    const before = last;
    try {
      last = readFileSync(path);
      return authenticate(nonce);
    } catch {
      // The file is being written, or gone. The client would close if this threw.
      last = before;
      return authenticate(nonce);
    }
  };
}

function tlsOf(config: NatsConfig, servers: ServerUrl[]): ConnectionOptions {
  const { ca, cert, key } = config.tls;
  const files = { ca, cert, key };
  for (const [name, path] of Object.entries(files))
    if (path !== null) readFile(`cluster.tls.${name}`, path);
  const isWanted = servers.some(({ isTls }) => isTls) || Object.values(files).some(Boolean);
  if (!isWanted) return {};
  let host = '';
  return {
    // Chooses no server; it only records which one is next.
    reconnectToServer: ([next]) => {
      host = next?.hostname ?? '';
      return null;
    },
    tls: {
      ...(ca === null ? {} : { caFile: ca }),
      ...(cert === null ? {} : { certFile: cert }),
      ...(key === null ? {} : { keyFile: key }),
      // The client gives no name for a server whose address is an IP address, and Node then expects `localhost`.
      checkServerIdentity: (name: string, certificate: PeerCertificate) =>
        checkServerIdentity(isIP(host) ? host : name, certificate),
    } as ConnectionOptions['tls'] & object,
  };
}

function readFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw new StartupError(`the file of ${setting} cannot be read (${messageOf(thrown)})`);
  }
}
