import { useState } from 'preact/hooks';
import type { Incident, StackFrame } from '../../../src/client/index.js';
import { withOpen } from '../model/open-incidents.js';
import { hrefTo, route } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { hrefAt } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { sizeText } from '../parts/size.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { t } from '../texts/text.js';
import { typeText } from './incident-types.js';
import { LastLines } from './last-lines.js';

export function IncidentList({
  incidents,
  withBot = false,
}: {
  incidents: readonly Incident[];
  withBot?: boolean;
}) {
  const [open, setOpen] = useState<ReadonlyMap<string, Incident>>(new Map());
  const toggle = (incident: Incident, isOpen: boolean): void =>
    setOpen((before) => {
      const after = new Map(before);
      if (isOpen) after.set(incident.id, incident);
      else after.delete(incident.id);
      return after;
    });
  return (
    <ul class="incidents">
      {withOpen(incidents, open).map((incident) => (
        <li key={incident.id}>
          <OneIncident
            incident={incident}
            withBot={withBot}
            onToggle={(isOpen) => toggle(incident, isOpen)}
          />
        </li>
      ))}
    </ul>
  );
}

interface OneProps {
  incident: Incident;
  withBot: boolean;
  onToggle: (isOpen: boolean) => void;
}

function OneIncident({ incident, withBot, onToggle }: OneProps) {
  const { type, at_ms, suspect, reason, host, bots, stack, heap, last_lines, last_commands } =
    incident;
  const { exit, stderr = [], cause, last_lines_at_ms: times } = incident;
  const [isOpen, setOpen] = useState(false);
  void second.value;
  // Nothing in an id needs quotes.
  const q = suspect === null ? '' : `bot:${suspect}`;
  return (
    <details
      onToggle={({ currentTarget }) => {
        setOpen(currentTarget.open);
        onToggle(currentTarget.open);
      }}
    >
      <summary>
        <Icon name="right" />
        <span class="tag tone-bad">{typeText(type)}</span>
        {withBot ? (
          <strong>
            {suspect ??
              (host === null ? t('incident.unknown') : t('happening.host', { host: String(host) }))}
          </strong>
        ) : null}
        <span class="incident-reason">
          <LineText text={reason} />
        </span>
        <time title={fullTime(at_ms)}>{t('time.ago', { time: age(at_ms) })}</time>
      </summary>
      {isOpen ? (
        <div class="incident-body">
          <p class="incident-links">
            <a href={hrefAt('log', at_ms, '', { q })}>{t('incidents.openLog')}</a>
            {route.value.view === 'problems' && route.value.part !== '' ? null : (
              <a href={hrefTo('problems', cause)}>{t('incidents.allOfCause')}</a>
            )}
          </p>
          <dl class="facts">
            <Fact name={t('incident.when')}>{fullTime(at_ms)}</Fact>
            {suspect === null ? null : (
              <Fact name={t('term.bot')}>
                <a href={hrefTo('bots', suspect)}>{suspect}</a>
              </Fact>
            )}
            {host === null ? null : <Fact name={t('term.host')}>{host}</Fact>}
            {exit === undefined ? null : (
              <Fact name={t('incident.process')}>
                {exit.signal === null
                  ? t('incident.exitCode', { code: String(exit.code) })
                  : t('incident.endedBy', { signal: exit.signal })}
              </Fact>
            )}
            {heap === null ? null : (
              <Fact name={t('hosts.heap')}>
                {t('count.of', { n: sizeText(heap.used), all: sizeText(heap.limit) })}
              </Fact>
            )}
            {bots.length > 1 ? (
              <Fact name={t('incident.botsOnHost')}>
                {bots.slice(0, 20).join(', ')}
                {bots.length > 20 ? ` ${t('count.more', { n: bots.length - 20 })}` : ''}
              </Fact>
            ) : null}
          </dl>
          <Block title={t('incident.stack')} lines={stackLines(stack)} />
          <Block title={t('incident.stderr')} lines={stderr} />
          <LastLines name={t('incident.lastLines')} lines={last_lines} times={times} />
          <Block title={t('incident.commands')} lines={last_commands} />
        </div>
      ) : null}
    </details>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Block({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <div class="block-title">{title}</div>
      <TextBox name={title}>
        <LineText text={lines.join('\n')} isWhole />
      </TextBox>
    </section>
  );
}

function stackLines(stack: StackFrame[] | string | null): string[] {
  if (stack === null) return [];
  if (typeof stack === 'string') return stack.split('\n');
  return stack.map((frame) => {
    const { function: name, url, line, column } = frame as StackFrame & Record<string, unknown>;
    return `at ${name || '(anonymous)'} (${url}:${line}:${column})`;
  });
}
