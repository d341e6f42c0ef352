import { useContext, useId, useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../src/client/index.js';
import { t } from '../texts/text.js';
import { Icon } from './icons.js';
import {
  type Faults,
  type Field,
  fieldFor,
  isObject,
  NOT_JSON,
  NotJson,
  newItemOf,
  type Schema,
} from './schema.js';
import { SecretField, SetSecrets } from './secret-field.js';

interface FieldsProps {
  schema: Schema;
  value: JsonObject;
  /** As the service's errors name it: `config`, `args`. */
  path: string;
  faults: Faults;
  onChange: (value: JsonObject) => void;
}

export function SchemaFields({ schema, value, path, faults, onChange }: FieldsProps) {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return <p class="muted">{t('schema.none')}</p>;
  return (
    <>
      {fields.map(([name, field]) => (
        <OneField
          key={name}
          name={name}
          schema={field}
          value={value[name]}
          path={`${path}.${name}`}
          isRequired={schema.required?.includes(name) === true && field.default === undefined}
          faults={faults}
          onChange={(given) => {
            const { [name]: _, ...rest } = value;
            onChange(given === undefined ? rest : { ...rest, [name]: given });
          }}
        />
      ))}
    </>
  );
}

interface FieldProps {
  name: string;
  schema: Schema;
  value: Json | undefined;
  path: string;
  isRequired: boolean;
  faults: Faults;
  onChange: (value: Json | undefined) => void;
}

function OneField(props: FieldProps) {
  const { name, schema, value, path, isRequired, faults, onChange } = props;
  const id = useId();
  const field = fieldFor(schema);
  const reported = faults.get(path);
  // Invalid JSON is shown while typing and disappears once it is valid.
  const fault = value instanceof NotJson ? NOT_JSON : reported === NOT_JSON ? undefined : reported;
  const label = schema.title ?? name;
  const secrets = useContext(SetSecrets);
  const isSecret = field.type === 'text' && field.isSecret;
  if (field.type === 'group') {
    return (
      <fieldset>
        <legend>
          {label}{' '}
          {isRequired || value !== undefined ? null : (
            <span class="muted">{t('schema.notSet')}</span>
          )}
        </legend>
        {schema.description ? <p class="hint">{schema.description}</p> : null}
        {reported === undefined ? null : <p class="fault">{reported}</p>}
        <SchemaFields
          schema={schema}
          value={isObject(value) ? value : {}}
          path={path}
          faults={faults}
          onChange={(given) =>
            onChange(Object.keys(given).length === 0 && !isRequired ? undefined : given)
          }
        />
      </fieldset>
    );
  }
  if (field.type === 'list' || field.type === 'record') {
    return <Items {...props} field={field} label={label} />;
  }
  return (
    <div class={field.type === 'switch' ? 'field switch' : 'field'}>
      <label for={id}>
        {label}
        {isRequired ? <span class="required"> {t('schema.required')}</span> : null}
      </label>
      {isSecret && secrets ? (
        <SecretField
          id={id}
          label={label}
          isSet={secrets.has(path.replace(/^config\./, ''))}
          isRequired={isRequired}
          value={value}
          isFaulty={fault !== undefined}
          describedBy={fault === undefined ? `${id}-hint` : `${id}-fault ${id}-hint`}
          onChange={onChange}
        />
      ) : (
        <Input
          id={id}
          field={field}
          schema={schema}
          value={value}
          isFaulty={fault !== undefined}
          onChange={onChange}
        />
      )}
      {fault === undefined ? null : (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      <Hint id={`${id}-hint`} schema={schema} />
    </div>
  );
}

interface ItemsProps extends FieldProps {
  field: Extract<Field, { type: 'list' | 'record' }>;
  label: string;
}

/** The items of a list, or the named values of a record, each with its fields. */
function Items({
  field: { type, of },
  label,
  name,
  schema,
  value,
  path,
  faults,
  onChange,
}: ItemsProps) {
  const isList = type === 'list';
  const items: (readonly [key: string, Json])[] = isList
    ? (Array.isArray(value) ? value : []).map((item, n) => [String(n), item] as const)
    : Object.entries(isObject(value) ? value : {});
  const set = (next: readonly (readonly [key: string, Json])[]): void => {
    if (next.length === 0) onChange(undefined);
    else onChange(isList ? next.map(([, item]) => item) : Object.fromEntries(next));
  };
  const change = (at: number, key: string, item: Json | undefined): void =>
    set(items.map((one, n) => (n === at ? [key, item ?? ''] : one)));
  const fault = faults.get(path);
  const taken = new Set(items.map(([key]) => key));
  const free = (): string => {
    let n = items.length + 1;
    while (taken.has(`${name}-${n}`)) n++;
    return `${name}-${n}`;
  };
  return (
    <fieldset class="items">
      <legend>{label}</legend>
      {schema.description ? <p class="hint">{schema.description}</p> : null}
      {fault === undefined ? null : <p class="fault">{fault}</p>}
      {items.map(([key, item], at) => (
        <div key={at} class="item">
          {isList ? null : (
            <input
              type="text"
              class="item-name"
              aria-label={t('schema.nameOf', { field: label, n: at + 1 })}
              value={key}
              // Two values cannot have one name: it is taken when the field is left.
              onChange={({ currentTarget }) => {
                const next = currentTarget.value.trim();
                if (next !== '' && !taken.has(next)) change(at, next, item);
                else currentTarget.value = key;
              }}
            />
          )}
          <OneField
            name={isList ? `${name}[${at}]` : key}
            schema={of}
            value={item}
            path={isList ? `${path}[${at}]` : `${path}.${key}`}
            isRequired
            faults={faults}
            onChange={(given) => change(at, key, given)}
          />
          <button
            type="button"
            class="quiet square"
            aria-label={t('schema.removeOf', { field: label, n: at + 1 })}
            title={t('schema.remove')}
            onClick={() => set(items.filter((_, n) => n !== at))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button
        type="button"
        aria-label={t('schema.addTo', { field: label })}
        onClick={() => set([...items, [free(), newItemOf(of)]])}
      >
        <Icon name="add" />
        {t('schema.add')}
      </button>
    </fieldset>
  );
}

function Hint({ id, schema }: { id: string; schema: Schema }) {
  const { description, minimum, maximum, default: preset } = schema;
  const range =
    minimum !== undefined && maximum !== undefined
      ? t('schema.range', { from: minimum, to: maximum })
      : minimum !== undefined && minimum !== 0
        ? t('schema.atLeast', { n: minimum })
        : '';
  // An empty default needs no mention.
  const isEmpty =
    preset === undefined || ['""', '[]', '{}', 'false'].includes(JSON.stringify(preset));
  const shown = isEmpty
    ? ''
    : t('schema.default', { value: typeof preset === 'string' ? preset : JSON.stringify(preset) });
  const rest = [range, shown].filter((part) => part !== '').join(', ');
  if (!description && rest === '') return null;
  return (
    <p class="hint" id={id}>
      {description
        ? `${description}${rest === '' ? '' : ` (${rest})`}`
        : `${rest.slice(0, 1).toUpperCase()}${rest.slice(1)}`}
    </p>
  );
}

interface InputProps {
  id: string;
  field: Field;
  schema: Schema;
  value: Json | undefined;
  isFaulty: boolean;
  onChange: (value: Json | undefined) => void;
}

function Input({ id, field, schema, value, isFaulty, onChange }: InputProps) {
  const common = {
    id,
    'aria-invalid': isFaulty,
    'aria-describedby': isFaulty ? `${id}-fault ${id}-hint` : `${id}-hint`,
  };
  switch (field.type) {
    case 'text': {
      const given = typeof value === 'string' ? value : '';
      const onInput = (event: { currentTarget: { value: string } }): void =>
        onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value);
      if (field.isLong) {
        return (
          <textarea
            {...common}
            rows={3}
            value={given}
            maxLength={schema.maxLength}
            onInput={onInput}
          />
        );
      }
      const shared = { ...common, maxLength: schema.maxLength, value: given, onInput };
      return field.isSecret ? (
        <input {...shared} type="password" autocomplete="new-password" />
      ) : (
        <input {...shared} type="text" autocomplete="off" />
      );
    }
    case 'number':
      return (
        <input
          {...common}
          type="number"
          step={field.isWhole ? 1 : 'any'}
          value={typeof value === 'number' && !Number.isNaN(value) ? value : ''}
          onInput={({ currentTarget }) => {
            // Invalid input has an empty value; NaN tells it from an empty field.
            if (currentTarget.validity.badInput) onChange(Number.NaN);
            else onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value));
          }}
        />
      );
    case 'switch':
      return (
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <select
          {...common}
          value={value === undefined ? '' : JSON.stringify(value)}
          onChange={({ currentTarget }) =>
            onChange(
              currentTarget.value === '' ? undefined : (JSON.parse(currentTarget.value) as Json),
            )
          }
        >
          <option value="">–</option>
          {field.options.map((option) => (
            <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
              {typeof option === 'string' ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      );
    case 'lines':
      return (
        <textarea
          {...common}
          rows={3}
          placeholder={t('schema.linePlaceholder')}
          value={Array.isArray(value) ? value.join('\n') : ''}
          onInput={({ currentTarget }) => {
            const given = currentTarget.value.split('\n');
            while (given.at(-1) === '' && given.length > 1) given.pop();
            onChange(given.join('') === '' ? undefined : given);
          }}
          onBlur={() => {
            if (Array.isArray(value)) onChange(value.filter((line) => line !== ''));
          }}
        />
      );
    default:
      return <JsonInput {...common} value={value} onChange={onChange} />;
  }
}

interface JsonInputProps {
  id: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

/** Shows the text as typed while it still represents the value, otherwise the formatted value. */
function JsonInput({ id, value, onChange, ...rest }: JsonInputProps) {
  const [typed, setTyped] = useState('');
  return (
    <textarea
      id={id}
      {...rest}
      class="mono"
      rows={4}
      placeholder="JSON"
      spellcheck={false}
      value={textOf(parsed(typed)) === textOf(value) ? typed : textOf(value)}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(parsed(currentTarget.value));
      }}
    />
  );
}

function parsed(text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return new NotJson(text);
  }
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return value instanceof NotJson ? value.text : JSON.stringify(value, null, 2);
}
