// One operation: its facts, its bots as cells, and why bots have failed or were left out.

import { useState } from 'preact/hooks';
import type { Operation } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { HerdCanvas } from '../herd/canvas.js';
import { RESULTS, statusText } from '../herd/cells.js';
import { Legend } from '../herd/legend.js';
import { MAX_CELLS, useOperationCells } from '../herd/operation-cells.js';
import { Source } from '../herd/source.js';
import { undoneBy, unfinishedBots, useOperation } from '../model/operations.js';
import { type Resource, useResource } from '../model/resource.js';
import { hrefTo } from '../model/route.js';
import { fullTime, second, serverNow, span } from '../model/time.js';
import { Fact } from '../parts/fact.js';
import { LineText } from '../parts/text.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { botsWith } from '../query/address-query.js';
import { numberText, rich, t } from '../texts/text.js';
import { OperationProgress, OperationState } from './operation-state.js';
import { OperationSteps } from './operation-steps.js';
import { SelectionBar } from './selection-bar.js';

/** Bots with reasons that are listed at first, and how many more each time. */
const STEP = 100;

export function OperationView({ id }: { id: string }) {
  const answer = useOperation(id);
  const { value: operation } = answer;
  if (operation) return <One answer={answer} operation={operation} />;
  return (
    <>
      <ViewHead title={t('page.operations')} />
      <div class="page">
        <Unanswered of={answer} />
        <p>
          <a href={hrefTo('operations')}>{t('operations.all')}</a>
        </p>
      </div>
    </>
  );
}

interface Props {
  answer: Resource<unknown>;
  operation: Operation;
}

function One({ answer, operation }: Props) {
  const { title, reason, counts } = operation;
  const back = undoneBy(operation);
  const undoing = useOperation(back);
  return (
    <>
      <ViewHead title={visible(title)} note={<OperationState of={operation} />}>
        <OperationSteps
          operation={operation}
          isUndone={back !== undefined}
          onDone={answer.reload}
        />
      </ViewHead>
      <div class="page">
        <Unanswered of={answer} />
        <section class="card" aria-label={t('operation.facts')}>
          <OperationProgress of={operation} />
          <dl class="facts operation-facts">
            {reason === null ? null : <Fact name={t('operation.reason')}>{visible(reason)}</Fact>}
            {back === undefined ? null : (
              <Fact name={t('operation.undoneBy')}>
                <OperationLink id={back} title={undoing.value?.title} />{' '}
                {undoing.value ? <OperationState of={undoing.value} /> : null}
              </Fact>
            )}
            <RolloutFacts of={operation} />
            <Facts of={operation} />
          </dl>
        </section>
        <Picture operation={operation} undoing={undoing.value} />
        {counts.failed + counts.skipped + counts.unknown > 0 ? <Reasons of={operation} /> : null}
      </div>
    </>
  );
}

function OperationLink({ id, title = id }: { id: string; title?: string | undefined }) {
  return <a href={hrefTo('operations', id)}>{visible(title)}</a>;
}

function Facts({ of: { actor, began_ms, ended_ms, options, node } }: { of: Operation }) {
  void second.value;
  const { parallel, stagger_ms: stagger, max_failed: most } = options;
  const took = span((ended_ms ?? serverNow()) - began_ms);
  return (
    <>
      <Fact name={t('operation.by')}>{visible(actor.name)}</Fact>
      <Fact name={t('operation.began')}>
        {fullTime(began_ms)},{' '}
        {t(ended_ms === null ? 'operation.for' : 'operation.took', { time: took })}
      </Fact>
      <Fact name={t('operation.parallel')}>
        {numberText(parallel)}
        {stagger > 0 ? `, ${t('operation.stagger', { n: stagger })}` : ''}
      </Fact>
      <Fact name={t('operation.maxFailed')}>
        {most === null ? t('operation.anyNumber') : numberText(most)}
      </Fact>
      {node === undefined ? null : <Fact name={t('term.node')}>{node}</Fact>}
    </>
  );
}

function RolloutFacts({ of: { rollout } }: { of: Operation }) {
  if (!rollout) return null;
  const { kind, version, before, config, canary, ready, undoes } = rollout;
  const [from, to] = undoes === null ? [before, version] : [version, before];
  const within = span(rollout.healthy_ms);
  return (
    <>
      {undoes === null ? null : (
        <Fact name={t('operation.undoes')}>
          <OperationLink id={undoes} />
        </Fact>
      )}
      {kind === null ? null : (
        <>
          <Fact name={t('term.kind')}>
            <a href={botsWith('kind', kind)}>{kind}</a>
          </Fact>
          <Fact name={t('operation.version')}>
            <code>{from ?? t('herd.unknown')}</code> → <code>{to ?? t('herd.unknown')}</code>
          </Fact>
        </>
      )}
      {config.length > 0 ? (
        <Fact name={t('term.configuration')}>{visible(config.join(', '))}</Fact>
      ) : null}
      {undoes === null ? (
        <>
          <Fact name={t('operation.canaries')}>
            {canary === 0 ? t('operation.noCanaries') : canaryText(rollout)}
          </Fact>
          <Fact name={t('operation.healthy')}>
            {ready === null
              ? t('operation.healthyFor', { time: within })
              : rich('operation.healthyWhen', { status: <code>{ready}</code>, time: within })}
          </Fact>
        </>
      ) : null}
    </>
  );
}

function canaryText(rollout: NonNullable<Operation['rollout']>): string {
  const { canary, promote_after_ms: after, is_promoted: isPromoted, waits } = rollout;
  const next = waits
    ? t('operation.waits')
    : isPromoted
      ? t('operation.promoted')
      : after === null
        ? t('operation.promoteByHand')
        : t('operation.promoteAfter', { time: span(after) });
  return `${numberText(canary)}, ${next}`;
}

interface PictureProps {
  operation: Operation;
  undoing: Operation | null | undefined;
}

function Picture({ operation, undoing }: PictureProps) {
  const { answer, source } = useOperationCells(operation, undoing);
  if (operation.bots === 0) return null;
  return (
    <section class="card" aria-label={t('operation.picture')}>
      <Unanswered of={answer} />
      {operation.bots > MAX_CELLS ? (
        <p class="muted">{t('operation.cut', { n: MAX_CELLS, all: operation.bots })}</p>
      ) : null}
      <Source.Provider value={source}>
        <Legend />
        <HerdCanvas isSelecting={false} />
      </Source.Provider>
      <SelectionBar
        hiddenOf={(present) => present.filter((id) => !source.bots().has(id)).length}
        list=".herd-cells"
      />
    </section>
  );
}

/** The bots that are not done, with the reasons. */
function Reasons({ of: { id, counts } }: { of: Operation }) {
  const [most, setMost] = useState(STEP);
  const count = counts.failed + counts.skipped + counts.unknown;
  const answer = useResource((signal) => unfinishedBots(id, most, signal), [id], {
    when: [count, most],
  });
  const shown = answer.value ?? [];
  return (
    <section class="card" aria-labelledby="reasons-title">
      <h2 id="reasons-title">{t('operation.notDone', { n: count })}</h2>
      <Unanswered of={answer} />
      <ul class="operation-reasons">
        {shown.map((bot) => (
          <li key={bot.id} data-result={bot.result}>
            <a href={hrefTo('bots', bot.id)}>{bot.id}</a>
            <span class={bot.result === 'failed' ? 'fault' : 'muted'}>
              {statusText(RESULTS[bot.result])}
            </span>
            <span>
              {bot.error === null ? t('operation.noReason') : <LineText text={bot.error} />}
            </span>
          </li>
        ))}
      </ul>
      {shown.length >= most && shown.length < count ? (
        <p class="show-more">
          <button type="button" onClick={() => setMost(most + STEP)}>
            {t('list.showMore', { n: Math.min(STEP, count - shown.length) })}
          </button>
          <span class="muted">{t('count.of', { n: shown.length, all: count })}</span>
        </p>
      ) : null}
    </section>
  );
}
