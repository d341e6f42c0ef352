import { useState } from 'preact/hooks';
import type { ClusterNode, NodeAction } from '../../../src/client/index.js';
import { Confirm } from '../parts/dialog.js';

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
  const many = (number: number, what: string): string =>
    `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
  switch (action) {
    case 'drain':
      return {
        title: `Drain ${name}?`,
        verb: `Move ${many(bots, 'bot')}`,
        text: [
          `${many(bots, 'bot')} of ${name} ${bots === 1 ? 'moves' : 'move'} to ${many(others, 'other live node')}, one group at a time. Each is stopped here and started there.`,
          others === 0
            ? 'No other node takes bots now, so they stay until one does.'
            : 'Bots that name this node, or whose secrets are only here, stay.',
        ],
      };
    case 'cordon':
      return {
        title: `Cordon ${name}?`,
        verb: 'Cordon',
        text: [
          `${name} keeps its ${many(bots, 'bot')} and gets no new ones. ${many(others, 'other node')} ${others === 1 ? 'takes' : 'take'} bots.`,
        ],
      };
    case 'uncordon':
      return {
        title: `Uncordon ${name}?`,
        verb: 'Uncordon',
        text: [`${name}, which has ${many(bots, 'bot')}, takes new bots again.`],
      };
    case 'rebalance': {
      const all = live.reduce((sum, { figures }) => sum + figures.bots, 0);
      return {
        title: 'Rebalance the nodes?',
        verb: 'Rebalance',
        text: [
          `Bots move from full nodes to those with more room: ${many(all, 'bot')} on ${many(live.length, 'live node')}. A bot that moves is stopped and started again.`,
        ],
      };
    }
  }
}
