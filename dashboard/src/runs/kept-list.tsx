// The runs that the service has, in a directory of its data directory.

import { visible } from '../../../src/shared/contract/escapes.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { fullTime } from '../model/time.js';
import { sizeText } from '../parts/size.js';
import { loading } from './kept-runs.js';
import { hrefOfRun } from './run-address.js';

export function KeptList() {
  const { value, error, isLoading } = useResource((signal) => api().runs({ signal }), []);
  const { runs = [], more = 0 } = value ?? {};
  return (
    <section aria-labelledby="kept-runs">
      <h2 id="kept-runs">Runs of the service</h2>
      {error && !isLoading ? (
        <p class="muted">The service does not list its runs: {error.message}</p>
      ) : runs.length === 0 ? (
        <p class="muted">
          {value
            ? 'None. Files in the directory runs of its data directory are listed here.'
            : 'Loading…'}
        </p>
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
      {more > 0 ? <p class="muted">and {more.toLocaleString('en')} older ones</p> : null}
    </section>
  );
}

/** How far the file of a run is on its way. */
export function LoadingRun({ name }: { name: string }) {
  const found = loading.value.get(name);
  if (!found) return null;
  const { bytes, read, error } = found;
  if (error !== undefined) {
    return (
      <p class="run-note bad" role="alert">
        {visible(name)} could not be loaded: {error}
      </p>
    );
  }
  return (
    <p class="run-note" role="status">
      Loading {visible(name)}: {sizeText(read)} of {sizeText(bytes)}
      <progress max={Math.max(1, bytes)} value={read} aria-label={`Loading ${name}`} />
    </p>
  );
}
