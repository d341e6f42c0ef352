// Runs in main. Makes rollouts of requests, and checks what their callers may do.

import type { JsonObject } from '../../shared/contract/json.js';
import type { Operation as ShownOperation } from '../../shared/contract/operations.js';
import { allows } from '../../shared/contract/rights.js';
import { HEALTHY_MS, ROLLOUT_PARALLEL } from '../../shared/contract/rollouts.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { KindReload } from '../bots/kind-reload.js';
import type { KindVersion, KindVersions } from '../bots/kind-versions.js';
import type { BotRegistry } from '../bots/registry.js';
import type { Operations } from '../operations/operations.js';
import type { Rollouts } from '../operations/rollouts.js';
import type { BotAccess } from './bot-access.js';
import type { OperationAccess } from './operation-access.js';

type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];

export interface RolloutRequestsParts {
  rollouts: Rollouts;
  operations: Operations;
  registry: BotRegistry;
  versions: KindVersions;
  reload: Pick<KindReload, 'prepare'>;
  bots: BotAccess;
  seen: OperationAccess;
  isInCluster: boolean;
}

export class RolloutRequests {
  readonly #parts: RolloutRequestsParts;

  constructor(parts: RolloutRequestsParts) {
    this.#parts = parts;
  }

  /** @throws DroverError `bad_request`, `conflict`, `not_found`, `forbidden`. */
  async start({ body, ids, rights, by }: Input<'startRollout'>): Promise<ShownOperation> {
    const { rollouts, operations, registry, bots, isInCluster } = this.#parts;
    if (isInCluster) {
      throw new DroverError(
        'conflict',
        'rollouts are for a single service: this one is in a cluster',
      );
    }
    const { kind, config = null } = body;
    for (const id of ids ?? []) bots.expectReached(id, rights);
    let version: KindVersion | null = null;
    if (kind !== undefined) {
      bots.expectUnlimited(rights);
      version = await this.#version(kind, body.version);
    } else if (body.version !== undefined) {
      throw new DroverError('bad_request', 'version needs a kind');
    } else if (ids === null) {
      throw new DroverError('bad_request', 'select bots: ids, labels or query');
    }
    const selected = ids ?? registry.idsOfKind(kind ?? '');
    const operation = await rollouts.start({
      bots: this.#concerned(selected, version, config !== null),
      version,
      isWhole: ids === null,
      config: config as JsonObject | null,
      canary: body.canary,
      promoteAfterMs: body.promote_after_ms ?? null,
      healthyMs: body.healthy_ms ?? HEALTHY_MS,
      options: {
        parallel: body.parallel ?? ROLLOUT_PARALLEL,
        stagger_ms: body.stagger_ms ?? 0,
        max_failed: body.max_failed === undefined ? 0 : body.max_failed,
      },
      actor: { name: by.name, token: by.token },
      mayRedirect: allows(rights, 'admin'),
    });
    return operations.shown(operation.record);
  }

  /** @throws DroverError `not_found`, `conflict`, `forbidden`. */
  async change({ id, change, viewer }: Input<'changeRollout'>): Promise<ShownOperation> {
    const { rollouts, operations, seen } = this.#parts;
    const record = seen.expectOwn(id, change, viewer);
    const open = operations.open(id);
    const { name, token } = viewer;
    if (change === 'promote') {
      if (!open || !rollouts.promote(open)) {
        throw new DroverError('conflict', `operation ${id} does not wait to be promoted`);
      }
      return operations.shown(record);
    }
    if (change === 'abort' && !open) {
      throw new DroverError('conflict', `rollout ${id} is ${record.state}: revert takes it back`);
    }
    if (change === 'revert' && open) {
      throw new DroverError(
        'conflict',
        `rollout ${id} is under way: abort ends it and takes it back`,
      );
    }
    const undoing = await rollouts.undo(record, { name, token }, `aborted by ${name}`);
    return operations.shown(undoing.record);
  }

  /** @param id of a version that is known; without it, what the files of the kind hold. */
  async #version(kind: string, id: string | undefined): Promise<KindVersion> {
    const { versions, reload } = this.#parts;
    if (id !== undefined) {
      const known = versions.get(kind, id);
      if (known) return known;
      throw new DroverError('not_found', `version ${id} of the bot kind ${kind} is not known`);
    }
    const [version] = (await reload.prepare(kind)).versions;
    if (!version) throw new DroverError('not_found', `no bot kind ${JSON.stringify(kind)}`);
    return version;
  }

  /** Those that do not have it already. @throws DroverError `conflict` when there are none. */
  #concerned(
    ids: readonly string[],
    version: KindVersion | null,
    isAll: boolean,
  ): readonly string[] {
    const { registry, versions } = this.#parts;
    if (ids.length === 0) throw new DroverError('conflict', 'no bot is selected');
    if (isAll || !version) return ids;
    const concerned = ids.filter((id) => {
      const spec = registry.specOf(id);
      const running = registry.versionOf(id) ?? version.id;
      return !spec || versions.idFor(spec) !== version.id || running !== version.id;
    });
    if (concerned.length > 0) return concerned;
    throw new DroverError('conflict', `all of these bots have version ${version.id} already`);
  }
}
