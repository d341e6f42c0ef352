import { useEffect, useState } from 'preact/hooks';
import type { BotSnapshot, JsonObject } from '../../../src/client/index.js';
import { kinds, loadKinds } from '../model/kinds.js';
import { may } from '../model/own-token.js';
import { api } from '../model/session.js';
import { clockTime, serverNow } from '../model/time.js';
import { useFirstFault } from '../parts/first-fault.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { faultsOf, filled, initialOf, type Schema, withoutSecrets } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { TextBox } from '../parts/text-box.js';
import { faultFrom } from './faults.js';

/** Bound of the results on the page; the oldest are removed. */
const MAX_RESULTS = 50;

interface Result {
  key: number;
  at: number;
  command: string;
  args: JsonObject;
  ms: number;
  text: string;
  isError: boolean;
}

export function BotCommands({ bot }: { bot: BotSnapshot }) {
  const [results, setResults] = useState<readonly Result[]>([]);
  const kind = kinds.value.find((one) => one.kind === bot.kind);
  const commands = Object.entries(kind?.commands ?? {});
  const { id, started_at_ms: startedAt, status } = bot;
  const isStarting = status === 'starting';
  // Another run, or one that has started, may have other commands.
  useEffect(loadKinds, [id, startedAt, isStarting]);
  const add = (result: Omit<Result, 'key'>): void =>
    setResults((before) =>
      [{ ...result, key: (before[0]?.key ?? 0) + 1 }, ...before].slice(0, MAX_RESULTS),
    );
  if (commands.length === 0) {
    return (
      <p class="empty muted">
        {kind
          ? `Bots of kind “${bot.kind}” have no commands.`
          : `The kind “${bot.kind}” is not loaded.`}
      </p>
    );
  }
  if (!may('invoke')) {
    return (
      <p class="empty">
        <NeedsScope scope="invoke" to="send commands to bots" />
      </p>
    );
  }
  return (
    <div class="page commands">
      <div class="command-list">
        {commands.map(([name, { description, args }]) => (
          <Command
            key={name}
            id={bot.id}
            name={name}
            description={description}
            schema={args as Schema}
            onResult={add}
          />
        ))}
      </div>
      <section class="card results" aria-label="Results" aria-live="polite">
        <h2>Results</h2>
        {results.length === 0 ? <p class="muted">Run a command to see its result here.</p> : null}
        <ol>
          {results.map(({ key, at, command, args, ms, text, isError }) => (
            <li key={key} class={isError ? 'is-error' : ''}>
              <header>
                <strong>{command}</strong>
                <code>{JSON.stringify(args)}</code>
                <span class="muted">
                  {clockTime(at).slice(0, 8)}, {ms} ms
                </span>
              </header>
              <TextBox name={isError ? 'Error' : 'Result'}>{text}</TextBox>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

interface CommandProps {
  id: string;
  name: string;
  description: string;
  schema: Schema;
  onResult: (result: Omit<Result, 'key'>) => void;
}

function Command({ id, name, description, schema, onResult }: CommandProps) {
  const [args, setArgs] = useState<JsonObject>(() => initialOf(schema));
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const form = useFirstFault(faults);
  const [isBusy, setBusy] = useState(false);
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  const run = async (): Promise<void> => {
    const found = faultsOf(schema, args, 'args');
    setFaults(found);
    if (found.size > 0) return;
    setBusy(true);
    const given = filled(args);
    const began = performance.now();
    const tell = (text: string, isError: boolean): void =>
      onResult({
        at: serverNow(),
        command: name,
        args: withoutSecrets(schema, given),
        ms: Math.round(performance.now() - began),
        text,
        isError,
      });
    try {
      tell(JSON.stringify(await api().invoke(id, name, given), null, 2), false);
    } catch (thrown) {
      setFaults(faultFrom(thrown, { args: schema }));
      tell((thrown as Error).message, true);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      ref={form}
      class="card command"
      aria-label={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <header class="card-head">
        <h2>{name}</h2>
        <button type="submit" class="primary" disabled={isBusy} aria-label={`Run ${name}`}>
          {isBusy ? 'Running…' : 'Run'}
        </button>
      </header>
      {description === '' ? null : <p class="hint">{description}</p>}
      {hasFields ? (
        <SchemaFields schema={schema} value={args} path="args" faults={faults} onChange={setArgs} />
      ) : null}
    </form>
  );
}
