import type { NewBot } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { nodeNames } from '../model/cluster.js';
import type { Faults } from '../parts/schema.js';
import { t } from '../texts/text.js';

type Failover = NonNullable<NewBot['failover']>;

/** Where a new bot runs in a cluster. */
export interface Placement {
  /** Empty for any. */
  node: string;
  failover: Failover;
}

export const ANYWHERE: Placement = { node: '', failover: 'restart' };

/** The fields of the request: only what differs from the default, which a single service refuses. */
export function fieldsOf({ node, failover }: Placement): Partial<NewBot> {
  return {
    ...(node !== '' && { node }),
    ...(failover !== ANYWHERE.failover && { failover }),
  };
}

interface Props {
  value: Placement;
  faults: Faults;
  onChange: (value: Placement) => void;
}

export function PlacementFields({ value, faults, onChange }: Props) {
  return (
    <div class="field-pair">
      <div class="field">
        <label for="new-node">{t('term.node')}</label>
        <select
          id="new-node"
          value={value.node}
          aria-invalid={faults.has('node')}
          onChange={({ currentTarget }) => onChange({ ...value, node: currentTarget.value })}
        >
          <option value="">{t('placement.any')}</option>
          {nodeNames.value.map((name) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
        <p class={faults.has('node') ? 'fault' : 'hint'}>
          {faults.get('node') ?? t('placement.nodeHint')}
        </p>
      </div>
      <div class="field">
        <label for="new-failover">{t('placement.whenLost')}</label>
        <select
          id="new-failover"
          value={value.failover}
          onChange={({ currentTarget }) =>
            onChange({ ...value, failover: currentTarget.value as Failover })
          }
        >
          <option value="restart">{t('placement.elsewhere')}</option>
          <option value="stay">{t('placement.wait')}</option>
        </select>
      </div>
    </div>
  );
}
