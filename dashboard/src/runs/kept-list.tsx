// The runs that the service has, in a directory of its data directory.

import { visible } from '../../../src/shared/contract/escapes.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { fullTime } from '../model/time.js';
import { sizeText } from '../parts/size.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { loading } from './kept-runs.js';
import { noteText } from './note-text.js';
import { hrefOfRun } from './run-address.js';

export function KeptList() {
  const answer = useResource((signal) => api().runs({ signal }), []);
  const { value: { runs, more } = { runs: undefined, more: 0 } } = answer;
  return (
    <section aria-labelledby="kept-runs">
      <h2 id="kept-runs">{t('runs.kept')}</h2>
      <Unanswered of={answer} />
      {runs === undefined ? null : runs.length === 0 ? (
        <p class="muted">{t('runs.keptNone')}</p>
      ) : (
        <ul class="run-list">
          {runs.map(({ name, bytes, changed_ms }) => (
            <li key={name} class="card run-item">
              <div class="run-item-text">
                <a href={hrefOfRun(name)}>{visible(name)}</a>
                <p class="muted">
                  {sizeText(bytes)} · {fullTime(changed_ms)}
                </p>
              </div>
            </li>
          ))}
        </ul>
      )}
      {more > 0 ? <p class="muted">{t('runs.older', { n: more })}</p> : null}
    </section>
  );
}

/** The progress of loading the file of a run. */
export function LoadingRun({ name }: { name: string }) {
  const found = loading.value.get(name);
  if (!found) return null;
  const { bytes, read, error } = found;
  if (error !== undefined) {
    return (
      <p class="run-note bad" role="alert">
        {t('runs.notLoaded', { name: visible(name), reason: noteText(error) })}
      </p>
    );
  }
  return (
    <p class="run-note" role="status">
      {t('runs.loading', {
        name: visible(name),
        read: sizeText(read),
        bytes: sizeText(bytes),
      })}
      <progress max={Math.max(1, bytes)} value={read} aria-label={t('runs.loadAs', { name })} />
    </p>
  );
}
