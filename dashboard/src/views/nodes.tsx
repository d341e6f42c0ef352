import { useState } from 'preact/hooks';
import type { ClusterNode, NodeAction, NodeList } from '../../../src/client/index.js';
import { cluster, loadCluster } from '../model/cluster.js';
import { may } from '../model/own-token.js';
import { hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { age, fullTime, second } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { Labels } from '../parts/labels.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { megabytesText } from '../parts/size.js';
import { Status } from '../parts/status.js';
import { say, sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { ConfirmNode, type NodeQuestion } from './nodes-confirm.js';

const ACTION_TITLES: Readonly<Record<NodeAction, string>> = {
  cordon: 'Cordon',
  uncordon: 'Uncordon',
  drain: 'Drain',
};
/** What makes sense in each state. Nothing can be asked of a lost node. */
const ACTIONS: Readonly<Record<ClusterNode['state'], readonly NodeAction[]>> = {
  live: ['cordon', 'drain'],
  cordoned: ['uncordon', 'drain'],
  draining: ['uncordon'],
  lost: [],
};

export function NodesView() {
  const { value: list } = cluster;
  const [asking, setAsking] = useState<NodeQuestion>();
  if (list === null) {
    return (
      <>
        <ViewHead title="Nodes" />
        <p class="empty muted">This service is not part of a cluster.</p>
      </>
    );
  }
  const run = async ({ node, action }: NodeQuestion): Promise<void> => {
    setAsking(undefined);
    try {
      if (action === 'rebalance') {
        const moving = await api().rebalance();
        say(`${count(moving, 'bot')} ${moving === 1 ? 'moves' : 'move'}`);
      } else {
        const { state } = await api().actOnNode(node, action);
        say(`${node} is ${state}`);
      }
      await loadCluster();
    } catch (thrown) {
      sayError(thrown, `${action} failed`);
    }
  };
  return (
    <>
      <ViewHead title="Nodes" note={`${list.nodes.length.toLocaleString('en')} in ${list.cluster}`}>
        {may('admin') ? (
          <button
            type="button"
            disabled={list.state !== 'on'}
            onClick={() => setAsking({ node: '', action: 'rebalance' })}
          >
            <Icon name="restart" />
            Rebalance
          </button>
        ) : (
          <NeedsScope scope="admin" to="change nodes" />
        )}
      </ViewHead>
      <div class="page">
        <NodeTable list={list} onAction={(node, action) => setAsking({ node, action })} />
      </div>
      {asking ? (
        <ConfirmNode
          {...asking}
          nodes={list.nodes}
          onYes={() => void run(asking)}
          onClose={() => setAsking(undefined)}
        />
      ) : null}
    </>
  );
}

interface TableProps {
  list: NodeList;
  onAction: (node: string, action: NodeAction) => void;
}

function NodeTable({ list, onAction }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard
    <section class="table-box" tabIndex={0} aria-label="Nodes">
      <table class="tokens nodes">
        <thead>
          <tr>
            <th>Node</th>
            <th>State</th>
            <th>Bots</th>
            <th>CPU</th>
            <th>Memory</th>
            <th>Streams</th>
            <th>Version</th>
            <th>
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.nodes.map((node) => (
            <NodeRow
              key={node.node}
              node={node}
              isOn={list.state === 'on'}
              onAction={(action) => onAction(node.node, action)}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  node: ClusterNode;
  /** Actions need the cluster. */
  isOn: boolean;
  onAction: (action: NodeAction) => void;
}

function NodeRow({ node, isOn, onAction }: RowProps) {
  void second.value;
  const { node: name, figures, capacity, state, renewed_at_ms: renewed } = node;
  return (
    <tr data-node={name}>
      <td class="token-name">
        <a href={hrefTo('bots', '', { node: name })}>{name}</a>
        {node.is_leader ? <span class="tag">leader</span> : null}
        {node.is_self ? <span class="tag">answers here</span> : null}
        <Labels labels={node.labels} />
      </td>
      <td data-title="state" title={`renewed ${age(renewed)} ago, ${fullTime(renewed)}`}>
        <Status status={state} />
      </td>
      <td data-title="bots">
        <span>
          {figures.bots.toLocaleString('en')}
          <span class="muted">, {figures.running.toLocaleString('en')} running</span>
        </span>
      </td>
      <td data-title="CPU">
        <span>
          {Math.round(figures.cpu * 100)} %
          <span class="muted"> of {count(capacity.cores, 'core')}</span>
        </span>
      </td>
      <td data-title="memory">
        <span>
          {megabytesText(figures.memory_mb)}
          <span class="muted"> of {megabytesText(capacity.memory_mb)}</span>
        </span>
      </td>
      <td data-title="streams">{figures.streams.toLocaleString('en')}</td>
      <td data-title="version">{node.version}</td>
      <td class="node-end">
        {may('admin')
          ? ACTIONS[state].map((action) => (
              <button
                key={action}
                type="button"
                class="quiet"
                disabled={!isOn}
                aria-label={`${ACTION_TITLES[action]} ${name}`}
                onClick={() => onAction(action)}
              >
                {ACTION_TITLES[action]}
              </button>
            ))
          : null}
      </td>
    </tr>
  );
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}
