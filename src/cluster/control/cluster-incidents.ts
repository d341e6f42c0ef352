// Runs in main. Owns this node's part in the incidents that the nodes share: the newest reports of each, and the losses of nodes. They
// are shown for nodes that cannot be asked.

import type { Incident, IncidentBot, IncidentReport } from '../../shared/contract/bots.js';
import { causeOf } from '../../shared/incidents/cause.js';
import type { LocalIncidents } from '../node-service.js';
import { parseJson } from '../wire/bus-validators.js';
import { PROTOCOL } from '../wire/names.js';
import type { BotRecords, Records } from './bot-records.js';
import { type Bucket, checkRecord } from './bucket.js';
import type { Member } from './parts.js';

/** Reports of a node that the others get. */
const SHARED = 100;
/** Reports of a node that the bucket has, with its losses: the leader removes the oldest above that. */
const KEPT = 150;
/** Of all nodes, also of those that are not there any more: above that the oldest go. At most 128 MB with {@link MAX_UNITS}. */
const KEPT_OF_ALL = 2000;
/** Longest report with all that it has, in UTF-16 units of JSON. Every node has those of all nodes in memory. */
const MAX_UNITS = 65_536;
/** Bots of a lost node that its report names. */
const MAX_BOTS = 200;

/** Value of a key in the bucket of incidents. */
export interface SharedIncident extends IncidentReport {
  v: number;
  /** The node where it happened. */
  node: string;
}

export interface ClusterIncidentsParts {
  node: string;
  store: LocalIncidents;
}

export class ClusterIncidents {
  readonly #parts: ClusterIncidentsParts;
  #records: Records<SharedIncident> | undefined;
  #isLeader = false;
  #isRemoving = false;

  constructor(parts: ClusterIncidentsParts) {
    this.#parts = parts;
    parts.store.changed = (report) => void this.#share(report);
  }

  /** NATS is there. */
  attach(records: Records<SharedIncident>): void {
    this.#records = records;
    records.onChange(() => void this.#bound());
    records.onLoaded(() => void this.#catchUp());
  }

  get bucket(): Bucket<SharedIncident> | undefined {
    return this.#records?.bucket;
  }

  /** Why the incidents of nodes that do not answer are not known; null when they are. */
  get fault(): string | null {
    return this.#records ? this.#records.fault : 'NATS was not reached yet';
  }

  elected(isLeader: boolean): void {
    this.#isLeader = isLeader;
    void this.#bound();
  }

  /** The reports of all nodes but these, and the losses of all, the newest first. */
  besides(nodes: ReadonlySet<string>): IncidentReport[] {
    return this.#all()
      .filter(({ node, incident: { type } }) => type === 'node_lost' || !nodes.has(node))
      .reverse()
      .map(({ node, incident, identities }) => ({ incident: { ...incident, node }, identities }));
  }

  /** The lease of a node has run out. Each leader may say it, and it counts once. */
  lost({ node, incarnation, renewed_at_ms: renewedAt }: Member, bots: BotRecords): void {
    // The same for each leader.
    const id = `${renewedAt.toString(36).padStart(9, '0')}-${incarnation.slice(0, 8)}`;
    if (this.#records?.get(id)) return;
    const ids = [...bots.on(node)];
    const found = {
      type: 'node_lost' as const,
      reason: `the node ${node} is lost: its lease has run out`,
      suspect: null,
      stack: null,
    };
    const incident: Incident = {
      ...found,
      id,
      at_ms: Date.now(),
      cause: causeOf(found).cause,
      host: null,
      heap: null,
      bots: ids.slice(0, MAX_BOTS),
      bot_count: ids.length,
      last_lines: [],
      last_lines_at_ms: [],
      last_commands: [],
      repeats: 0,
      repeated_at_ms: null,
    };
    const identities = incident.bots.flatMap((bot): IncidentBot[] => {
      const spec = bots.get(bot)?.spec;
      return spec ? [{ id: bot, incarnation: spec.incarnation ?? '', labels: spec.labels }] : [];
    });
    void this.#write(node, { incident, identities });
  }

  close(): void {
    this.#records?.close();
  }

  /** The oldest first: ids begin with the time. */
  #all(): SharedIncident[] {
    const records = this.#records;
    return [...(records?.ids() ?? [])].sort().flatMap((id) => records?.get(id) ?? []);
  }

  async #share(report: IncidentReport): Promise<void> {
    await this.#write(this.#parts.node, report);
  }

  /** What was not shared while NATS was away. */
  async #catchUp(): Promise<void> {
    for (const report of this.#parts.store.newest(SHARED)) {
      const { incident } = report;
      const known = this.#records?.get(incident.id)?.incident;
      if (known?.repeats !== incident.repeats) await this.#share(report);
    }
  }

  /** Never rejects: what NATS does not accept now is shared when it is back. */
  async #write(node: string, report: IncidentReport): Promise<void> {
    const records = this.#records;
    if (!records || records.fault !== null) return;
    const { id } = report.incident;
    // The leader has removed it: it was too old.
    if (records.isDeleted(id)) return;
    const value: SharedIncident = { v: PROTOCOL, node, ...cut(report) };
    try {
      if (records.get(id)) await records.change(id, (record) => ({ ...record, ...value }));
      else await records.create(id, value);
    } catch {}
  }

  /** One after the other: each removal is a change, and would remove those again that are on their way. */
  async #bound(): Promise<void> {
    if (!this.#isLeader || this.#isRemoving) return;
    this.#isRemoving = true;
    try {
      for (const id of this.#excess()) await this.#records?.remove(id, () => true);
    } catch {
      // NATS does not accept it now: the next change tries again.
    }
    this.#isRemoving = false;
  }

  #excess(): string[] {
    const counts = new Map<string, number>();
    let kept = 0;
    return this.#all()
      .reverse()
      .filter(({ node }) => {
        const count = (counts.get(node) ?? 0) + 1;
        counts.set(node, count);
        if (count > KEPT || kept === KEPT_OF_ALL) return true;
        kept += 1;
        return false;
      })
      .map(({ incident }) => incident.id);
  }
}

/** A report that is too long without what makes it long. */
function cut(report: IncidentReport): IncidentReport {
  if (JSON.stringify(report).length <= MAX_UNITS) return report;
  const { stderr: _, ...incident } = report.incident;
  const short = { ...incident, stack: null, last_commands: [] };
  const { suspect } = incident;
  return {
    incident: { ...short, bots: incident.bots.slice(0, 20), last_lines: [], last_lines_at_ms: [] },
    identities: report.identities.filter(({ id }, at) => id === suspect || at < 20),
  };
}

/** @throws Error that says why it cannot be read. */
export function readIncident(id: string, text: string): SharedIncident {
  const record = checkRecord<SharedIncident>('incident', parseJson(text));
  if (record.incident.id !== id) throw new Error('it is not of this incident');
  return record;
}
