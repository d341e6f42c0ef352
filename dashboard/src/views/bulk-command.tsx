// One command for many bots: its form, on how many it would run, its progress, the answer of each, and those that failed again.

import { useMemo, useState } from 'preact/hooks';
import type { JsonObject } from '../../../src/client/index.js';
import { CopyShell } from '../console/call-entry.js';
import { botsText } from '../model/actions.js';
import { BulkRun } from '../model/bulk-run.js';
import { type DryRun, dryRun, type SharedCommand, sharedCommands } from '../model/bulk-targets.js';
import { kinds } from '../model/kinds.js';
import { botsVersion, presentOf } from '../model/live.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { useFirstFault } from '../parts/first-fault.js';
import { type Faults, faultsOf, filled, initialOf, withoutSecrets } from '../parts/schema.js';
import { SchemaFields } from '../parts/schema-form.js';
import { t } from '../texts/text.js';
import { BulkDialog } from './bulk-answers.js';

const REDRAW_MS = 300;

interface Props {
  ids: readonly string[];
  onClose: () => void;
}

interface Started {
  run: BulkRun;
  command: string;
  /** Without secrets. */
  shown: JsonObject;
}

export function BulkCommand({ ids, onClose }: Props) {
  const [started, setStarted] = useState<Started>();
  return (
    <BulkDialog
      title={
        started
          ? t('bulk.commandOn', {
              command: started.command,
              bots: botsText(started.run.answers.size),
            })
          : titleOf(ids)
      }
      run={started?.run}
      again={t('bulk.anotherCommand')}
      onAgain={() => setStarted(undefined)}
      onClose={onClose}
      form={<BulkForm ids={ids} onStart={setStarted} onClose={onClose} />}
      beside={
        started ? (
          <span class="bulk-copy">
            <CopyShell
              call={{
                bots: [...started.run.answers.keys()],
                command: started.command,
                args: started.shown,
              }}
              of={started.command}
            />
          </span>
        ) : null
      }
    />
  );
}

function titleOf(ids: readonly string[]): string {
  return t('bulk.runOn', { bots: ids.length === 1 ? (ids[0] ?? '') : botsText(ids.length) });
}

interface FormProps extends Props {
  onStart: (started: Started) => void;
}

function BulkForm({ ids, onStart, onClose }: FormProps) {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const present = useMemo(() => presentOf(ids), [ids, version]);
  const commands = useMemo(() => sharedCommands(present, kinds.value), [present, kinds.value]);
  const [key, setKey] = useState('');
  const [args, setArgs] = useState<JsonObject>();
  const [faults, setFaults] = useState<Faults>(new Map());
  const form = useFirstFault(faults);
  const command = commands.find((one) => one.key === key);
  if (commands.length === 0) {
    return (
      <>
        <p class="dialog-body muted">{t('bulk.noCommands')}</p>
        <footer>
          <button type="button" class="primary" data-first onClick={onClose}>
            {t('button.close')}
          </button>
        </footer>
      </>
    );
  }
  const schema = command?.args ?? {};
  const value = args ?? initialOf(schema);
  const dry = command && dryRun(present, command);
  const start = (): void => {
    if (!command || !dry) return;
    const { name } = command;
    const found = faultsOf(schema, value, 'args');
    setFaults(found);
    if (found.size > 0 || dry.targets.length === 0) return;
    const given = filled(value);
    const run = new BulkRun(dry.targets, (some, signal) =>
      api().invokeMany(some, name, given, { signal }),
    );
    onStart({ run, command: name, shown: withoutSecrets(schema, given) });
    void run.run();
  };
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <div class="dialog-body form">
        <div class="field">
          <label for="bulk-command">{t('term.command')}</label>
          <select
            id="bulk-command"
            value={command?.key ?? ''}
            onChange={({ currentTarget }) => {
              setKey(currentTarget.value);
              setArgs(undefined);
              setFaults(new Map());
            }}
          >
            {/* None is chosen yet: a command that was not chosen must not run on many bots. */}
            {command ? null : <option value="">{t('bulk.chooseOne')}</option>}
            {commands.map((one) => (
              <option key={one.key} value={one.key}>
                {optionText(one, commands)}
              </option>
            ))}
          </select>
          {command?.description ? <p class="hint">{command.description}</p> : null}
        </div>
        {command && dry ? (
          <>
            <fieldset key={command.key}>
              <legend>{t('bulk.arguments')}</legend>
              <SchemaFields
                schema={schema}
                value={value}
                path="args"
                faults={faults}
                onChange={setArgs}
              />
            </fieldset>
            <p role="status" data-dry={dry.targets.length}>
              {dryText(dry, command.name)}
            </p>
          </>
        ) : null}
      </div>
      <footer>
        <button type="button" onClick={onClose}>
          {t('button.cancel')}
        </button>
        <button type="submit" class="primary" disabled={!dry?.targets.length}>
          {command && dry
            ? t('bulk.runCommandOn', { command: command.name, bots: botsText(dry.targets.length) })
            : t('button.run')}
        </button>
      </footer>
    </form>
  );
}

/** The kinds tell commands with the same name apart. */
function optionText({ name, kinds: of }: SharedCommand, all: readonly SharedCommand[]): string {
  const isAlone = all.filter((one) => one.name === name).length === 1;
  return isAlone ? name : `${name} (${[...of].join(', ')})`;
}

function dryText({ targets, stopped, without }: DryRun, name: string): string {
  const left = [
    stopped.length === 0 ? '' : t('bulk.notRunning', { n: stopped.length }),
    without.length === 0
      ? ''
      : t('bulk.withoutCommand', { bots: botsText(without.length), command: name }),
  ].filter((part) => part !== '');
  const runs = t('bulk.runsOn', { bots: botsText(targets.length) });
  return left.length === 0 ? runs : t('bulk.runsLeftOut', { runs, others: left.join(', ') });
}
