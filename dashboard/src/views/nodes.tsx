import { useState } from 'preact/hooks';
import type { ClusterNode, NodeAction, NodeList } from '../../../src/client/index.js';
import type { ColumnTable } from '../columns/column.js';
import { ColumnsMenu } from '../columns/columns-menu.js';
import { DataTable } from '../columns/data-table.js';
import { type ChosenColumns, useColumns } from '../columns/use-columns.js';
import { cluster, clusterAnswer, loadCluster } from '../model/cluster.js';
import { may } from '../model/own-token.js';
import { api } from '../model/session.js';
import { age, fullTime, second } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { Labels } from '../parts/labels.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { megabytesText } from '../parts/size.js';
import { Status } from '../parts/status.js';
import { say, sayError } from '../parts/toasts.js';
import { Ago } from '../parts/token-facts.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { botsWith } from '../query/address-query.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { ConfirmNode, type NodeQuestion } from './nodes-confirm.js';

const ACTION_TITLES: Readonly<Record<NodeAction, PlainKey>> = {
  cordon: 'nodes.cordon',
  uncordon: 'nodes.uncordon',
  drain: 'nodes.drain',
};
/** The actions that make sense in each state. A lost node has none. */
const ACTIONS: Readonly<Record<ClusterNode['state'], readonly NodeAction[]>> = {
  live: ['cordon', 'drain'],
  cordoned: ['uncordon', 'drain'],
  draining: ['uncordon'],
  lost: [],
};

const COLUMNS: Readonly<Record<string, PlainKey>> = {
  node: 'term.node',
  state: 'term.state',
  bots: 'term.bots',
  cpu: 'term.cpu',
  memory: 'term.memory',
  streams: 'nodes.streams',
  version: 'nodes.version',
  renewed: 'nodes.lastRenewed',
};
const USUAL = Object.keys(COLUMNS).filter((name) => name !== 'renewed');
const NODES_TABLE: ColumnTable = {
  name: 'nodes',
  fixed: 'node',
  columnOf: (name) => {
    const title = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    return title && { name, title: t(title), least: 0, grow: name === 'node' ? 1 : 0 };
  },
};

export function NodesView() {
  const columns = useColumns(NODES_TABLE, USUAL);
  const { value: list } = cluster;
  const [asking, setAsking] = useState<NodeQuestion>();
  if (list === null) {
    return (
      <>
        <ViewHead title={t('page.nodes')} />
        {clusterAnswer.value.value ? (
          <p class="empty muted">{t('nodes.noCluster')}</p>
        ) : (
          <Unanswered of={clusterAnswer.value} />
        )}
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
        <ColumnsMenu
          table={NODES_TABLE}
          chosen={columns}
          offer={() => [{ title: t('page.nodes'), names: Object.keys(COLUMNS) }]}
        />
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
        <Unanswered of={clusterAnswer.value} />
        <NodeTable
          list={list}
          columns={columns}
          onAction={(node, action) => setAsking({ node, action })}
        />
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
  columns: ChosenColumns;
  onAction: (node: string, action: NodeAction) => void;
}

function NodeTable({ list, columns, onAction }: TableProps) {
  // Ages.
  void second.value;
  return (
    <DataTable
      label={t('page.nodes')}
      table={NODES_TABLE}
      chosen={columns}
      rows={list.nodes}
      keyOf={({ node }) => node}
      attributesOf={({ node }) => ({ 'data-node': node })}
      cell={(name, node) => <NodeCell name={name} node={node} />}
      end={{
        title: t('nodes.actions'),
        of: ({ node, state }) =>
          may('admin')
            ? ACTIONS[state].map((action) => (
                <button
                  key={action}
                  type="button"
                  class="quiet"
                  // Actions need the cluster.
                  disabled={list.state !== 'on'}
                  aria-label={t('action.on', { action: t(ACTION_TITLES[action]), target: node })}
                  onClick={() => onAction(node, action)}
                >
                  {t(ACTION_TITLES[action])}
                </button>
              ))
            : null,
      }}
    />
  );
}

function renewedText({ renewed_at_ms: at }: ClusterNode): string {
  return t('nodes.renewed', { age: age(at), time: fullTime(at) });
}

function NodeCell({ name, node }: { name: string; node: ClusterNode }) {
  const { figures, capacity } = node;
  switch (name) {
    case 'node':
      return (
        <>
          <a href={botsWith('node', node.node)}>{node.node}</a>
          {node.is_leader ? <span class="tag">{t('nodes.leader')}</span> : null}
          {node.is_self ? <span class="tag">{t('nodes.answersHere')}</span> : null}
          <Labels labels={node.labels} />
        </>
      );
    case 'state':
      return (
        <span title={renewedText(node)}>
          <Status status={node.state} />
        </span>
      );
    case 'bots':
      return (
        <span>
          {numberText(figures.bots)}
          <span class="muted">{t('nodes.running', { n: figures.running })}</span>
        </span>
      );
    case 'cpu':
      return (
        <span>
          {Math.round(figures.cpu * 100)} %
          <span class="muted">
            {' '}
            {t('nodes.ofCores', { cores: t('nodes.cores', { n: capacity.cores }) })}
          </span>
        </span>
      );
    case 'memory':
      return (
        <span>
          {megabytesText(figures.memory_mb)}
          <span class="muted">
            {' '}
            {t('nodes.ofMemory', { memory: megabytesText(capacity.memory_mb) })}
          </span>
        </span>
      );
    case 'streams':
      return <>{numberText(figures.streams)}</>;
    case 'version':
      return <>{node.version}</>;
    default:
      return <Ago at={node.renewed_at_ms} />;
  }
}
