import { ColumnTitles } from '../columns/column-titles.js';
import { t } from '../texts/text.js';
import { BOTS_TABLE, type BotColumn } from './bots-columns.js';
import { change, type Query } from './bots-query.js';

interface Props {
  query: Query;
  columns: readonly BotColumn[];
  areAll: boolean;
  onAll: () => void;
  onMove: (names: readonly string[]) => void;
}

export function Head({ query, columns, areAll, onAll, onMove }: Props) {
  const { sort, isDown } = query;
  return (
    <div class="list-head bots-row" role="row" aria-rowindex={1}>
      <span class="cell-check" role="columnheader">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t('bots.selectAll')}
          checked={areAll}
          onChange={onAll}
        />
      </span>
      <ColumnTitles
        table={BOTS_TABLE}
        columns={columns}
        classOf={(name) => `cell-${name.includes('.') ? 'field' : name}`}
        sorting={{
          by: sort,
          isDown,
          can: (name) => BOTS_TABLE.columnOf(name)?.field !== undefined,
          sort: (name) => change(query, { sort: name, isDown: sort === name ? !isDown : false }),
        }}
        onMove={onMove}
      />
    </div>
  );
}
