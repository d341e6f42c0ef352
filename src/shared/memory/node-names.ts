// The names of the nodes of a cluster by the numbers that frames have for them. The bus thread writes, fronts read.
//
//   0             4              8                72
//   +-------------+--------------+----------------+----------------+--
//   | COUNT  i32  | unused       | name of node 1 | name of node 2 | ...  64 bytes each: length, then ASCII
//   +-------------+--------------+----------------+----------------+--
//
// Contract: one writer, many readers. Names are only added, and a name is there before the first frame with its number is
// published: a reader of the frame finds the name. 0 is no node.

/** Different nodes in a run of the service; 64 KB. A node beyond gets number 0, so a filter by its name finds nothing. */
export const MAX_NODES = 1024;
const NAMES_AT = 8;
/** NODE_NAME allows 63 characters. */
const NAME_BYTES = 64;

export type SharedNodeNames = SharedArrayBuffer;

export function createNodeNames(): SharedNodeNames {
  return new SharedArrayBuffer(NAMES_AT + MAX_NODES * NAME_BYTES);
}

/** For readers. */
/** Names of nodes by the numbers in the index of frames. */
export type NodeNaming = Pick<NodeNames, 'name'>;

export class NodeNames {
  protected readonly count: Int32Array;
  protected readonly octets: Buffer;
  /** The names that were read, by number. */
  protected readonly known: string[] = [''];

  constructor(shared: SharedNodeNames) {
    this.count = new Int32Array(shared, 0, 1);
    this.octets = Buffer.from(shared);
  }

  /** Name of a node; '' for 0. */
  name(node: number): string {
    if (node >= this.known.length) this.#read();
    return this.known[node] ?? '';
  }

  #read(): void {
    const count = Atomics.load(this.count, 0);
    for (let node = this.known.length; node <= count; node++) {
      const at = NAMES_AT + (node - 1) * NAME_BYTES;
      this.known.push(this.octets.toString('latin1', at + 1, at + 1 + (this.octets[at] as number)));
    }
  }
}

/** For the bus thread. */
export class NodeNamesWriter extends NodeNames {
  readonly #numbers = new Map<string, number>();

  /** The number of a node, which a new one gets now. */
  number(name: string): number {
    const there = this.#numbers.get(name);
    if (there !== undefined) return there;
    const node = this.#numbers.size + 1;
    if (node > MAX_NODES) return 0;
    const at = NAMES_AT + (node - 1) * NAME_BYTES;
    this.octets[at] = this.octets.write(name, at + 1, NAME_BYTES - 1, 'latin1');
    Atomics.store(this.count, 0, node);
    this.#numbers.set(name, node);
    return node;
  }
}
