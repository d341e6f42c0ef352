// docs/prometheus-rules.yml with promtool: the rules are valid, use metrics that exist, and alert when they should.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../harness/docs.js';
import { requireTool } from '../harness/needs.js';

const RULES = path.join(ROOT, 'docs/prometheus-rules.yml');

/** The series that set off each alert, as from 20 minutes of scrapes, one a minute; and the labels of the alert. */
const ALERTS: Record<
  string,
  [series: string, values: string, labels: Record<string, string>, more?: object[]]
> = {
  DroverDown: ['up{job="drover"}', '0x20', { job: 'drover', severity: 'critical' }],
  DroverBotsFailed: ['drover_bots{kind="irc",status="failed"}', '2x20', { kind: 'irc' }],
  DroverIncidents: ['drover_incidents_total{type="crash"}', '0+1x20', { type: 'crash' }],
  DroverJournalDown: ['drover_journal_up', '0x20', {}],
  DroverJournalLosesEvents: ['drover_journal_lost_events_total', '0+10x20', {}],
  DroverStreamsLoseEvents: ['drover_stream_gaps_total', '0+5x20', {}],
  DroverHostsBehind: ['drover_host_queue_ratio', '0.9x20', {}],
  DroverThreadBusy: [
    'drover_thread_busy_seconds_total{thread="main"}',
    '0+59x20',
    { thread: 'main' },
  ],
  DroverPinGuessed: ['drover_pin_lock_seconds', '30x20', {}],
  DroverNodeLost: ['drover_cluster_nodes{state="lost"}', '1x20', {}],
  DroverNodeCutOff: ['drover_cluster_up', '0x20', { severity: 'critical' }],
  DroverNoLeader: ['drover_cluster_is_leader', '0x20', { severity: 'critical' }],
  DroverSeveralLeaders: [
    'drover_cluster_is_leader{instance="h1"}',
    '1x20',
    { severity: 'critical' },
    [{ series: 'drover_cluster_is_leader{instance="h2"}', values: '1x20' }],
  ],
  DroverNotPublished: ['drover_cluster_unpublished_events', '1000+100x20', {}],
  DroverStreamBehind: ['drover_cluster_behind_blocks', '20x20', {}],
  DroverLeftoverBots: ['drover_cluster_leftover_bots', '2x20', {}],
  DroverBucketsDiverged: ['drover_cluster_diverged_buckets', '1x20', { severity: 'critical' }],
  DroverSecretKey: [
    'drover_cluster_has_key{instance="h2"}',
    '0x20',
    {},
    [{ series: 'drover_cluster_has_key{instance="h1"}', values: '1x20' }],
  ],
};

it('alerts when it should, and only then', () => {
  requireTool('promtool', 'prometheus');
  const rules = readFileSync(RULES, 'utf8');
  expect([...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name)).toEqual(Object.keys(ALERTS));
  const documented = readFileSync(path.join(ROOT, 'docs/METRICS.md'), 'utf8');
  for (const [name] of rules.matchAll(/\bdrover_\w+/g)) expect(documented).toContain(`\`${name}`);
  execFileSync('promtool', ['check', 'rules', RULES]);
  const tests = Object.entries(ALERTS).map(([alert, [series, values, labels, more = []]]) => ({
    interval: '1m',
    input_series: [{ series, values }, ...more],
    // Only the names and labels are compared: the texts are for people.
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertstate="firing"}) by (alertname, kind, type, thread, job, severity)`,
        eval_time: '20m',
        exp_samples: [
          { labels: labelsOf({ alertname: alert, severity: 'warning', ...labels }), value: 1 },
        ],
      },
    ],
  }));
  const dir = mkdtempSync(path.join(os.tmpdir(), 'drover-rules-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'tests.json');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  execFileSync('promtool', ['test', 'rules', file], { stdio: 'pipe' });
});

const labelsOf = (labels: Record<string, string>): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}}`;
