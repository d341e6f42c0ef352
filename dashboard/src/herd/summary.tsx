import { useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { useThrottled } from '../model/throttle.js';
import { herdVersion } from './past.js';
import type { HerdScene } from './use-scene.js';

const REDRAW_MS = 1000;

/** The table behind the cells: each group with its bots by status. */
export function HerdSummary({ herd: { cells, layout } }: { herd: HerdScene }) {
  const version = useThrottled(herdVersion, REDRAW_MS);
  const groups = useMemo(
    () =>
      cells.groups.map(({ key, title, first, count }) => {
        const counts = new Map<string, number>();
        for (const status of cells.statuses.slice(first, first + count)) {
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
        const text = [...counts]
          .sort(([, a], [, b]) => b - a)
          .map(([status, of]) => `${of.toLocaleString('en')} ${visible(status)}`)
          .join(', ');
        return { key, title: title === '' ? 'All bots' : visible(title), count, text };
      }),
    [version, layout],
  );
  return (
    <table class="unseen">
      <caption>Groups of the herd. “Table” shows each bot.</caption>
      <thead>
        <tr>
          <th scope="col">Group</th>
          <th scope="col">Bots</th>
          <th scope="col">By status</th>
        </tr>
      </thead>
      <tbody>
        {groups.map(({ key, title, count, text }) => (
          <tr key={key}>
            <th scope="row">{title}</th>
            <td>{count.toLocaleString('en')}</td>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
