import { useContext, useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { useThrottled } from '../model/throttle.js';
import { numberText, t } from '../texts/text.js';
import { statusText } from './cells.js';
import { Source } from './source.js';
import type { HerdScene } from './use-scene.js';

const REDRAW_MS = 1000;

/** The table behind the cells: each group with its bots by status. */
export function HerdSummary({ herd: { cells, layout } }: { herd: HerdScene }) {
  const version = useThrottled(useContext(Source).version, REDRAW_MS);
  const groups = useMemo(
    () =>
      cells.groups.map(({ key, title, first, count }) => {
        const counts = new Map<string, number>();
        for (const status of cells.statuses.slice(first, first + count)) {
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
        const text = [...counts]
          .sort(([, a], [, b]) => b - a)
          .map(([status, of]) => `${numberText(of)} ${statusText(status)}`)
          .join(', ');
        return { key, title: title === '' ? t('term.allBots') : visible(title), count, text };
      }),
    [version, layout],
  );
  return (
    <table class="unseen">
      <caption>{t('herd.summary')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('term.group')}</th>
          <th scope="col">{t('term.bots')}</th>
          <th scope="col">{t('herd.statuses')}</th>
        </tr>
      </thead>
      <tbody>
        {groups.map(({ key, title, count, text }) => (
          <tr key={key}>
            <th scope="row">{title}</th>
            <td>{numberText(count)}</td>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
