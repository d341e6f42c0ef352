// Test harness. Owns network namespaces of Linux on one bridge: each process of a cluster on a machine for itself, between which a test
// cuts the network, or slows it down. It takes rights that not every user has.

import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PATH = `${process.env['PATH']}:/usr/sbin:/sbin`;

function ip(...args: string[]): void {
  execFileSync('ip', args, { env: { ...process.env, PATH }, stdio: 'pipe' });
}

/** Not netem, which not every kernel has. */
const SLOW_LINK = fileURLToPath(new URL('slow-link.py', import.meta.url));
/** Belongs to nobody on the bridge. */
const NOBODY = '02:00:00:00:00:01';

const made = new Set<Network>();
process.on('exit', () => {
  for (const network of made) network.remove();
});

export interface Namespace {
  name: string;
  address: string;
  /** A command in front of another, which then runs here. */
  within: string[];
}

/** Namespaces of tests that were killed must not keep those of the next ones from being made. */
const unused = (): string => randomInt(16 ** 6).toString(16);

export class Network {
  /** The address of the test itself, which every namespace reaches. */
  readonly address: string;
  readonly #bridge = `dr${unused()}`;
  readonly #subnet = `10.${randomInt(64, 250)}.${randomInt(1, 250)}`;
  readonly #namespaces: Namespace[] = [];
  readonly #cuts = new Set<string>();

  private constructor() {
    this.address = `${this.#subnet}.1`;
    ip('link', 'add', this.#bridge, 'type', 'bridge');
    made.add(this);
    ip('addr', 'add', `${this.address}/24`, 'dev', this.#bridge);
    ip('link', 'set', this.#bridge, 'up');
  }

  /** Undefined where the system does not permit it. */
  static tryMake(): Network | undefined {
    let network: Network | undefined;
    try {
      network = new Network();
      network.add();
      return network;
    } catch {
      network?.remove();
      return undefined;
    }
  }

  add(): Namespace {
    const number = this.#namespaces.length + 2;
    const name = `${this.#bridge}-${number}`;
    const address = `${this.#subnet}.${number}`;
    const near = `${this.#bridge}v${number}`;
    const within = ['nsenter', `--net=/var/run/netns/${name}`, '--'];
    ip('netns', 'add', name);
    const namespace = { name, address, within };
    this.#namespaces.push(namespace);
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', near, 'master', this.#bridge, 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    return namespace;
  }

  /** Nothing comes through between the two any more, in either direction. Their connections stay open, and new ones wait. */
  cut(a: Namespace, b: Namespace): void {
    if (this.#cuts.has(key(a, b))) return;
    this.#cuts.add(key(a, b));
    // A route to nowhere would refuse new connections at once, as no broken network does.
    const near = ['lladdr', NOBODY, 'nud', 'permanent', 'dev', 'eth0'];
    ip('-n', a.name, 'neigh', 'replace', b.address, ...near);
    ip('-n', b.name, 'neigh', 'replace', a.address, ...near);
  }

  join(a: Namespace, b: Namespace): void {
    if (!this.#cuts.delete(key(a, b))) return;
    ip('-n', a.name, 'neigh', 'del', b.address, 'dev', 'eth0');
    ip('-n', b.name, 'neigh', 'del', a.address, 'dev', 'eth0');
  }

  /** What the one sends to the others arrives that much later. @returns what ends it. */
  async slow(
    one: Namespace,
    others: readonly Namespace[],
    ms: number,
  ): Promise<() => Promise<void>> {
    const [command = '', ...args] = [...one.within, 'python3', SLOW_LINK, `${ms}`];
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const gone = once(child, 'close');
    await Promise.race([once(child.stdout, 'data'), gone]);
    ip('-n', one.name, 'link', 'set', 'slow0', 'up');
    for (const { address } of others)
      ip('-n', one.name, 'route', 'add', `${address}/32`, 'dev', 'slow0', 'src', one.address);
    return async () => {
      child.kill();
      await gone;
    };
  }

  remove(): void {
    made.delete(this);
    for (const { name } of this.#namespaces) ip('netns', 'del', name);
    ip('link', 'del', this.#bridge);
  }
}

function key(a: Namespace, b: Namespace): string {
  return [a.address, b.address].sort().join(' ');
}
