// Runs in main. Owns the versions of kinds on disk that must be known after a restart of the service: the files may be other ones by then.

import type { Store } from '../store/store.js';
import type { Change, Table } from '../store/store-file.js';
import type { KindSchemas } from './kind-schemas.js';
import type { KindVersion, KindVersions } from './kind-versions.js';

/** Of one kind. */
interface KindState {
  /** The version with which bots start although the disk may have another one; null when that on the disk counts. */
  current: string | null;
  /** A version that was taken back: it is not used because the service starts again. */
  rejected: string | null;
  /** The rollout of the whole kind that is under way; null for none. */
  open: string | null;
  /** The version that a rollout has given to bots, by the id of the rollout. */
  pins: Record<string, string>;
  /** The version before the last rollout of the whole kind, which can be undone. */
  previous: string | null;
}

const NO_STATE: KindState = { current: null, rejected: null, open: null, pins: {}, previous: null };

export interface KindStatesParts {
  store: Store;
  versions: KindVersions;
  schemas: KindSchemas;
}

/** Names of kinds have no such character. */
const keyOf = (kind: string, id: string): string => `${kind}@${id}`;

export class KindStates {
  readonly #parts: KindStatesParts;
  /** By kind. Bounded by the number of kinds. */
  readonly #states = new Map<string, KindState>();

  constructor(parts: KindStatesParts) {
    this.#parts = parts;
  }

  /**
   * To be called when the first host has loaded the kinds, before any bot starts.
   * @returns lines about kinds whose files are not used; null when the current versions are those of the disk.
   */
  restore(): string[] | null {
    const { versions } = this.#parts;
    const notices: string[] = [];
    let isOther = false;
    for (const { key, value } of this.#table.getRange()) {
      if (key.includes('@')) versions.know(value as KindVersion);
      else this.#states.set(key, value as KindState);
    }
    for (const [kind, { current, rejected, open, pins }] of this.#states) {
      for (const [rollout, id] of Object.entries(pins)) {
        const version = versions.get(kind, id);
        if (version) versions.pin(rollout, version);
      }
      const disk = versions.current(kind);
      const kept = current === null ? undefined : versions.get(kind, current);
      const isKept = open !== null || disk === undefined || disk.id === rejected;
      if (!kept || !isKept || disk?.id === kept.id) continue;
      isOther = true;
      this.#use(kept);
      if (open !== null) continue;
      const found = disk ? `hold version ${disk.id}, which was taken back` : 'do not load';
      notices.push(
        `the bot kind ${kind} has version ${kept.id}: its files ${found}; drover kinds reload ${kind} uses them`,
      );
    }
    return isOther ? notices : null;
  }

  /** The rollout of the whole kind that is under way; null for none. */
  openRollout(kind: string): string | null {
    return this.#states.get(kind)?.open ?? null;
  }

  /** Whether it is the version before the last rollout, or the one with which bots start. */
  names(kind: string, id: string): boolean {
    const { current, previous } = this.#of(kind);
    return id === current || id === previous;
  }

  /** Those of all kinds that are under way, by kind. */
  openRollouts(): [kind: string, rollout: string][] {
    return [...this.#states].flatMap(([kind, { open }]): [string, string][] =>
      open === null ? [] : [[kind, open]],
    );
  }

  /**
   * A rollout gives this version to bots from now on, which is on disk when this resolves.
   * @param before of a rollout to all bots of the kind: the version with which others start until its end.
   * @throws DroverError `not_stored`.
   */
  async begin(rollout: string, version: KindVersion, before: string | null): Promise<void> {
    const { kind, id } = version;
    const { versions } = this.#parts;
    const state = this.#of(kind);
    const whole = before === null ? {} : { current: before, open: rollout, previous: before };
    versions.know(version);
    await this.#put(kind, { ...state, ...whole, pins: { ...state.pins, [rollout]: id } });
    versions.pin(rollout, version);
    const old = before === null ? undefined : versions.get(kind, before);
    if (!old || versions.current(kind)?.id === old.id) return;
    // A reload has made the new version the current one already.
    this.#use(old);
  }

  /** The version of the rollout is that of all bots of the kind that start. Rollouts before it count no more. */
  async finish(version: KindVersion): Promise<void> {
    const { kind } = version;
    const { versions } = this.#parts;
    const state = this.#of(kind);
    this.#use(version);
    for (const pinned of Object.keys(state.pins)) versions.pin(pinned, null);
    await this.#put(kind, { ...NO_STATE, previous: state.previous });
  }

  /** Bots start with `before` from now on; those of the rollout keep its version until they are taken back. */
  async takeBack(rollout: string, version: KindVersion, before: KindVersion): Promise<void> {
    const { kind, id } = version;
    const { versions } = this.#parts;
    const state = this.#of(kind);
    const pins = { ...state.pins, [rollout]: id };
    const next = { current: before.id, open: null, rejected: id, previous: null };
    versions.pin(rollout, version);
    this.#use(before);
    await this.#put(kind, { ...state, ...next, pins });
  }

  /** No bot has the version of this rollout any more. */
  async end(rollout: string, kind: string): Promise<void> {
    const state = this.#of(kind);
    const { [rollout]: _, ...pins } = state.pins;
    this.#parts.versions.pin(rollout, null);
    await this.#put(kind, { ...state, pins, open: state.open === rollout ? null : state.open });
  }

  /** What is on the disk counts again. */
  async reloaded(kind: string): Promise<void> {
    const state = this.#states.get(kind);
    if (state) await this.#put(kind, { ...state, current: null, rejected: null });
  }

  /** Bots of its kind start with it from now on. */
  #use(version: KindVersion): void {
    const { versions, schemas } = this.#parts;
    versions.use(version);
    schemas.add([version.info], versions.modules());
  }

  #of(kind: string): KindState {
    return this.#states.get(kind) ?? NO_STATE;
  }

  /** Stores the state, with the versions that it names, and without others of the kind. @throws DroverError `not_stored`. */
  async #put(kind: string, state: KindState): Promise<void> {
    const { store, versions } = this.#parts;
    const named = [state.current, state.previous, ...Object.values(state.pins)];
    const changes: Change[] = [{ table: 'kind_versions', key: kind, value: state }];
    const kept = new Set<string>();
    for (const id of new Set(named)) {
      const version = id === null ? undefined : versions.get(kind, id);
      if (!version) continue;
      const key = keyOf(kind, version.id);
      kept.add(key);
      if (!this.#table.get(key)) changes.push({ table: 'kind_versions', key, value: version });
    }
    const range = { start: keyOf(kind, ''), end: keyOf(kind, '~') };
    for (const { key } of this.#table.getRange(range)) {
      if (!kept.has(key)) changes.push({ table: 'kind_versions', key });
    }
    await store.write(changes);
    this.#states.set(kind, state);
  }

  get #table(): Table<KindState | KindVersion> {
    return this.#parts.store.table<KindState | KindVersion>('kind_versions');
  }
}
