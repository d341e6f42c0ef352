// What is done to many bots: the operations that the service knows, those of the last day.

import { useState } from 'preact/hooks';
import type { Operation } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { useOperations } from '../model/operations.js';
import { hrefTo } from '../model/route.js';
import { Ago } from '../parts/token-facts.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { t } from '../texts/text.js';
import { OperationView } from './operation.js';
import { OperationProgress, OperationState } from './operation-state.js';

/** Operations that are listed at first, how many more each time, and at most: the service keeps no more. */
const STEP = 50;
const MOST = 1000;

/** @param id shows only this one. */
export function OperationsView({ id }: { id: string }) {
  return id === '' ? <Operations /> : <OperationView key={id} id={id} />;
}

function Operations() {
  const [most, setMost] = useState(STEP);
  const answer = useOperations(most);
  const { operations = [], missing = [] } = answer.value ?? {};
  const shown = operations.slice(0, most);
  return (
    <>
      <ViewHead title={t('page.operations')} />
      <div class="page">
        <section class="card">
          <Unanswered of={answer} />
          {missing.length > 0 ? (
            <p role="alert">{t('operations.missing', { nodes: missing.join(', ') })}</p>
          ) : null}
          {answer.value && shown.length === 0 ? (
            <p class="muted">{t('operations.none')}</p>
          ) : (
            <ul class="operations" aria-label={t('page.operations')}>
              {shown.map((operation) => (
                <Row key={operation.id} operation={operation} />
              ))}
            </ul>
          )}
          {shown.length === most && most < MOST ? (
            <p class="show-more">
              <button type="button" onClick={() => setMost(Math.min(MOST, most + STEP))}>
                {t('list.showMore', { n: STEP })}
              </button>
            </p>
          ) : null}
        </section>
      </div>
    </>
  );
}

function Row({ operation }: { operation: Operation }) {
  const { id, title, actor, began_ms, reason } = operation;
  return (
    <li data-operation={id}>
      <div class="operation-what">
        <a href={hrefTo('operations', id)}>{visible(title)}</a> <OperationState of={operation} />
        {reason === null ? null : <p class="muted">{visible(reason)}</p>}
      </div>
      <OperationProgress of={operation} />
      <span class="muted operation-who">
        {visible(actor.name)}, <Ago at={began_ms} />
      </span>
    </li>
  );
}
