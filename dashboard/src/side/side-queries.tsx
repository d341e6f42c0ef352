// The queries of the logs that are side by side, as fields.

import { useState } from 'preact/hooks';
import { MAX_QUERY } from '../../../src/shared/contract/query-bounds.js';
import { CloseButton } from '../parts/close-button.js';
import { Icon } from '../parts/icons.js';
import { checkedQuery } from '../query/checked-query.js';
import { t } from '../texts/text.js';
import { MAX_LOGS, showQueries } from './side-address.js';

export function SideQueries({ queries }: { queries: readonly string[] }) {
  const [isAdding, setAdding] = useState(queries.length === 0);
  return (
    <div class="side-logs" role="group" aria-label={t('side.list')}>
      {queries.map((query, at) => (
        <LogField
          key={`${at} ${query}`}
          name={`Query of log ${at + 1}`}
          query={query}
          onChange={(next) =>
            showQueries(
              queries
                .map((text, index) => (index === at ? next : text))
                .filter((text) => text !== ''),
            )
          }
          onRemove={() => showQueries(queries.filter((_, index) => index !== at))}
        />
      ))}
      {isAdding ? (
        <LogField
          key={`new ${queries.length}`}
          name={`Query of log ${queries.length + 1}`}
          query=""
          onChange={(next) => {
            if (next === '') return;
            setAdding(false);
            showQueries([...queries, next]);
          }}
          onRemove={() => setAdding(false)}
        />
      ) : queries.length < MAX_LOGS ? (
        <button type="button" onClick={() => setAdding(true)}>
          <Icon name="add" />
          {t('side.add')}
        </button>
      ) : null}
    </div>
  );
}

interface FieldProps {
  name: string;
  query: string;
  onChange: (query: string) => void;
  onRemove: () => void;
}

function LogField({ name, query, onChange, onRemove }: FieldProps) {
  const [text, setText] = useState(query);
  const { error } = checkedQuery(text, 'lines');
  const id = `fault-${name.replaceAll(' ', '-')}`;
  const apply = (): void => {
    if (error === undefined && text.trim() !== query) onChange(text.trim());
  };
  return (
    <form
      class="side-log"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <input
        type="text"
        aria-label={name}
        placeholder="bot:demo-1 level:error"
        autocomplete="off"
        spellcheck={false}
        maxLength={MAX_QUERY}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : id}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={apply}
      />
      <CloseButton name={t('side.remove', { log: text })} onClick={onRemove} />
      {error === undefined ? null : (
        <p class="query-error" id={id} role="status">
          {error}
        </p>
      )}
    </form>
  );
}
