import { useState } from 'preact/hooks';
import type { BotSnapshot, JsonObject } from '../../../src/client/index.js';
import { CallEntry } from '../console/call-entry.js';
import { callsOf, runCall } from '../console/calls.js';
import { useCommands } from '../console/use-commands.js';
import { kindsAnswer } from '../model/kinds.js';
import { may } from '../model/own-token.js';
import { useFirstFault } from '../parts/first-fault.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { type Faults, faultsOf, filled, initialOf, type Schema } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { faultFrom } from './faults.js';

export function BotCommands({ bot }: { bot: BotSnapshot }) {
  const known = useCommands(bot);
  const commands = Object.entries(known ?? {});
  const calls = callsOf(bot.id);
  if (!known && !kindsAnswer.value.value) return <Unanswered of={kindsAnswer.value} />;
  if (commands.length === 0) {
    return (
      <p class="empty muted">
        {known
          ? t('commands.none', { kind: bot.kind })
          : t('commands.notLoaded', { kind: bot.kind })}
      </p>
    );
  }
  if (!may('invoke')) {
    return (
      <p class="empty">
        <NeedsScope scope="invoke" to={t('scope.sendCommands')} />
      </p>
    );
  }
  return (
    <div class="page commands">
      <div class="command-list">
        {commands.map(([name, { description, args }]) => (
          <Command key={name} id={bot.id} name={name} description={description} schema={args} />
        ))}
      </div>
      <section class="card results" aria-label={t('commands.results')} aria-live="polite">
        <h2>{t('commands.results')}</h2>
        {calls.length === 0 ? <p class="muted">{t('commands.hint')}</p> : null}
        <ol>
          {calls.map((call) => (
            <CallEntry key={call.key} call={call} />
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
}

function Command({ id, name, description, schema }: CommandProps) {
  const [args, setArgs] = useState<JsonObject>(() => initialOf(schema));
  const [faults, setFaults] = useState<Faults>(new Map());
  const form = useFirstFault(faults);
  const [isBusy, setBusy] = useState(false);
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  const run = async (): Promise<void> => {
    const found = faultsOf(schema, args, 'args');
    setFaults(found);
    if (found.size > 0) return;
    setBusy(true);
    try {
      await runCall(id, name, filled(args), schema);
    } catch (thrown) {
      setFaults(faultFrom(thrown, { args: schema }));
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
        <button
          type="submit"
          class="primary"
          disabled={isBusy}
          aria-label={t('commands.run', { command: name })}
        >
          {isBusy ? t('state.running') : t('button.run')}
        </button>
      </header>
      {description === '' ? null : <p class="hint">{description}</p>}
      {hasFields ? (
        <SchemaFields schema={schema} value={args} path="args" faults={faults} onChange={setArgs} />
      ) : null}
    </form>
  );
}
