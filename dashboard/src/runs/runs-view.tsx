// The page Runs: opens files, lists the runs that are open, shows one of them.

import { useEffect } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { useResource } from '../model/resource.js';
import { go, hrefTo, route } from '../model/route.js';
import { api } from '../model/session.js';
import { fullTime } from '../model/time.js';
import { CloseButton } from '../parts/close-button.js';
import { sizeText } from '../parts/size.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { t } from '../texts/text.js';
import { DropZone } from './drop-zone.js';
import { KeptList, LoadingRun } from './kept-list.js';
import { openKept } from './kept-runs.js';
import { noteText } from './note-text.js';
import {
  addReport,
  closeRun,
  MAX_OPEN,
  type OpenRun,
  openFiles,
  openRuns,
  runNamed,
} from './open-runs.js';
import { hrefOfRun } from './run-address.js';
import { lengthText } from './run-time.js';
import { Reading, RunView } from './run-view.js';

export function RunsView() {
  const { part: name } = route.value;
  const run = openRuns.value.find((one) => one.name === name);
  if (name === '') return <RunList />;
  if (!run) return <NotOpen name={name} />;
  return <RunView key={name} run={run} actions={<Drops onto={name} />} />;
}

/** A report that is dropped on a recording is shown with it; everything else is opened by itself. */
function Drops({ onto }: { onto: string }) {
  return (
    <DropZone
      isSmall
      onFiles={async (files) => {
        const names = await openFiles(files);
        const [only] = names;
        const isReport =
          only !== undefined && names.length === 1 && !runNamed(only)?.facts?.recording;
        if (isReport && only !== onto && runNamed(onto)?.facts?.recording) addReport(onto, only);
        else show(names, files);
      }}
    />
  );
}

/** One run is shown at once; of several, or when a file could not be opened, the list. */
function show(names: readonly string[], files: readonly { name: string }[]): void {
  const [only] = names;
  const isOne = names.length === 1 && files.every(({ name }) => !runNamed(name)?.error);
  go(isOne && only !== undefined ? hrefOfRun(only) : hrefTo('runs'));
}

/** The service may have it; else its file must be opened. */
function NotOpen({ name }: { name: string }) {
  const answer = useResource((signal) => api().runs({ signal }), []);
  const kept = answer.value?.runs ?? [];
  const isKnown = answer.value !== undefined || answer.error !== undefined;
  const isKept = kept.some((file) => file.name === name);
  useEffect(() => {
    if (isKept) void openKept(name, kept);
  }, [name, isKept]);
  return (
    <div class="view-full">
      <ViewHead title={t('page.runs')}>
        <a class="button" href={hrefTo('runs')}>
          {t('runs.all')}
        </a>
      </ViewHead>
      <div class="page">
        {isKept ? <LoadingRun name={name} /> : null}
        <Unanswered of={answer} />
        {isKept || !isKnown ? null : (
          <>
            {answer.value ? (
              <p class="run-note" role="status">
                {t('runs.notOpen', { name: visible(name) })}
              </p>
            ) : null}
            <DropZone onFiles={(files) => void openFiles(files)} />
          </>
        )}
      </div>
    </div>
  );
}

function RunList() {
  const runs = openRuns.value;
  return (
    <div class="view-full">
      <ViewHead title={t('page.runs')} />
      <div class="page">
        <DropZone onFiles={async (files) => show(await openFiles(files), files)} />
        {runs.length === 0 ? (
          <p class="muted">{t('runs.none')}</p>
        ) : (
          <section aria-labelledby="open-runs">
            <h2 id="open-runs">{t('runs.open')}</h2>
            <p class="muted">{t('runs.most', { n: MAX_OPEN })}</p>
            <ul class="run-list">
              {runs.map((run) => (
                <Row key={run.name} run={run} />
              ))}
            </ul>
          </section>
        )}
        <KeptList />
      </div>
    </div>
  );
}

function Row({ run }: { run: OpenRun }) {
  const { name, bytes, facts, error } = run;
  const { recording, expectations } = facts ?? {};
  const failed = expectations?.filter(({ result }) => result === 'failed').length ?? 0;
  const parts = [
    sizeText(bytes),
    ...(recording
      ? [
          fullTime(recording.startedAtMs),
          lengthText(recording.lengthMs),
          t('count.lines', { n: recording.rows }),
          t('range.errors', { n: recording.levels.error }),
        ]
      : []),
    ...(expectations ? [t('runs.failedOf', { n: failed, all: expectations.length })] : []),
  ];
  return (
    <li class="card run-item">
      <div class="run-item-text">
        {facts ? <a href={hrefOfRun(name)}>{visible(name)}</a> : <span>{visible(name)}</span>}
        {error !== undefined ? (
          <p class="bad" role="alert">
            {t('runs.itCannotOpen', { reason: noteText(error) })}
          </p>
        ) : facts ? (
          <p class="muted">{parts.join(' · ')}</p>
        ) : (
          <Reading run={run} />
        )}
      </div>
      <CloseButton name={t('runs.close', { name })} onClick={() => closeRun(name)} />
    </li>
  );
}
