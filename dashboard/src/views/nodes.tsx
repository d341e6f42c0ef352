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
import { useOneStop } from '../parts/one-stop.js';
import { megabytesText } from '../parts/size.js';
import { Status } from '../parts/status.js';
import { say, sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { ConfirmNode, type NodeQuestion } from './nodes-confirm.js';

const ACTION_TITLES: Readonly<Record<NodeAction, PlainKey>> = {
  cordon: 'nodes.cordon',
  uncordon: 'nodes.uncordon',
  drain: 'nodes.drain',
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
        <ViewHead title={t('page.nodes')} />
        <p class="empty muted">{t('nodes.noCluster')}</p>
      </>
    );
  }
  const run = async ({ node, action }: NodeQuestion): Promise<void> => {
    setAsking(undefined);
    try {
      if (action === 'rebalance') {
        const moving = await api().rebalance();
        say(t('nodes.moves', { n: moving }));
      } else {
        const { state } = await api().actOnNode(node, action);
        say(t('nodes.is', { node, state }));
      }
      await loadCluster();
    } catch (thrown) {
      sayError(thrown, t('nodes.failed', { action }));
    }
  };
  return (
    <>
      <ViewHead
        title={t('page.nodes')}
        note={t('nodes.inCluster', { n: list.nodes.length, cluster: list.cluster ?? '' })}
      >
        {may('admin') ? (
          <button
            type="button"
            disabled={list.state !== 'on'}
            onClick={() => setAsking({ node: '', action: 'rebalance' })}
          >
            <Icon name="restart" />
            {t('nodes.rebalance')}
          </button>
        ) : (
          <NeedsScope scope="admin" to={t('scope.changeNodes')} />
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
    <div class="table-box">
      <table
        class="tokens nodes"
        aria-label={t('page.nodes')}
        {...useOneStop<HTMLTableElement>('grid')}
      >
        <thead>
          <tr>
            <th>{t('term.node')}</th>
            <th>{t('term.state')}</th>
            <th>{t('term.bots')}</th>
            <th>{t('term.cpu')}</th>
            <th>{t('term.memory')}</th>
            <th>{t('nodes.streams')}</th>
            <th>{t('nodes.version')}</th>
            <th>
              <span class="unseen">{t('nodes.actions')}</span>
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
    </div>
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
        {node.is_leader ? <span class="tag">{t('nodes.leader')}</span> : null}
        {node.is_self ? <span class="tag">{t('nodes.answersHere')}</span> : null}
        <Labels labels={node.labels} />
      </td>
      <td
        data-title={t('nodes.titleState')}
        title={t('nodes.renewed', { age: age(renewed), time: fullTime(renewed) })}
      >
        <Status status={state} />
      </td>
      <td data-title={t('nodes.titleBots')}>
        <span>
          {numberText(figures.bots)}
          <span class="muted">{t('nodes.running', { n: figures.running })}</span>
        </span>
      </td>
      <td data-title={t('term.cpu')}>
        <span>
          {Math.round(figures.cpu * 100)} %
          <span class="muted">
            {' '}
            {t('nodes.ofCores', { cores: t('nodes.cores', { n: capacity.cores }) })}
          </span>
        </span>
      </td>
      <td data-title={t('nodes.titleMemory')}>
        <span>
          {megabytesText(figures.memory_mb)}
          <span class="muted">
            {' '}
            {t('nodes.ofMemory', { memory: megabytesText(capacity.memory_mb) })}
          </span>
        </span>
      </td>
      <td data-title={t('nodes.titleStreams')}>{numberText(figures.streams)}</td>
      <td data-title={t('nodes.titleVersion')}>{node.version}</td>
      <td class="node-end">
        {may('admin')
          ? ACTIONS[state].map((action) => (
              <button
                key={action}
                type="button"
                class="quiet"
                disabled={!isOn}
                aria-label={t('action.on', { action: t(ACTION_TITLES[action]), target: name })}
                onClick={() => onAction(action)}
              >
                {t(ACTION_TITLES[action])}
              </button>
            ))
          : null}
      </td>
    </tr>
  );
}
