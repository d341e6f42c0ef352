import { useState } from 'preact/hooks';
import type { ClusterNode, NodeAction } from '../../../src/client/index.js';
import { botsText } from '../model/actions.js';
import { Confirm } from '../parts/dialog.js';
import { t } from '../texts/text.js';

/** An action to confirm. */
export interface NodeQuestion {
  /** Empty for a rebalance, which is of all nodes. */
  node: string;
  action: NodeAction | 'rebalance';
}

interface Props extends NodeQuestion {
  nodes: readonly ClusterNode[];
  onYes: () => void;
  onClose: () => void;
}

/** Names how many bots and nodes an action is about, as they were when the dialog opened. */
export function ConfirmNode({ node, action, nodes: now, onYes, onClose }: Props) {
  const [nodes] = useState(now);
  const { title, verb, text } = questionOf(action, node, nodes);
  return (
    <Confirm
      title={title}
      action={verb}
      isDangerous={action === 'drain'}
      onYes={onYes}
      onClose={onClose}
    >
      {text.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </Confirm>
  );
}

function questionOf(
  action: NodeQuestion['action'],
  name: string,
  nodes: readonly ClusterNode[],
): { title: string; verb: string; text: string[] } {
  const bots = nodes.find(({ node }) => node === name)?.figures.bots ?? 0;
  const live = nodes.filter(({ state }) => state === 'live');
  const others = live.filter(({ node }) => node !== name).length;
  switch (action) {
    case 'drain':
      return {
        title: t('nodes.drainTitle', { node: name }),
        verb: t('nodes.move', { bots: botsText(bots) }),
        text: [
          t('nodes.drain1', { n: bots, node: name, others: t('nodes.otherLive', { n: others }) }),
          others === 0 ? t('nodes.noOther') : t('nodes.someStay'),
        ],
      };
    case 'cordon':
      return {
        title: t('nodes.cordonTitle', { node: name }),
        verb: t('nodes.cordon'),
        text: [
          `${t('nodes.keeps', { node: name, bots: botsText(bots) })} ${t('nodes.othersTake', { n: others })}`,
        ],
      };
    case 'uncordon':
      return {
        title: t('nodes.uncordonTitle', { node: name }),
        verb: t('nodes.uncordon'),
        text: [t('nodes.takesAgain', { node: name, bots: botsText(bots) })],
      };
    case 'rebalance': {
      const all = live.reduce((sum, { figures }) => sum + figures.bots, 0);
      return {
        title: t('nodes.rebalanceTitle'),
        verb: t('nodes.rebalance'),
        text: [
          t('nodes.rebalanceText', {
            bots: botsText(all),
            nodes: t('nodes.live', { n: live.length }),
          }),
        ],
      };
    }
  }
}
