import type { ComponentChildren } from 'preact';
import type { FieldName, QueryUse } from '../../../src/shared/query/fields.js';
import { t } from '../texts/text.js';
import { pick } from './address-query.js';

interface Props {
  use: QueryUse;
  field: FieldName;
  value: string;
  class?: string;
  title?: string;
  children: ComponentChildren;
}

/** A value in a row that becomes a term of the query. Keyboards reach the same with the query box, without a stop in each row. */
export function PickButton({ use, field, value, class: look = '', title, children }: Props) {
  return (
    <button
      type="button"
      class={`pick ${look}`}
      tabIndex={-1}
      title={title ?? t('query.pickHint')}
      onClick={(event) => {
        event.stopPropagation();
        pick(use, { field, value, isNot: event.altKey });
      }}
    >
      {children}
    </button>
  );
}
