import { useEffect, useRef, useState } from 'preact/hooks';
import type { BotAction, BotSnapshot } from '../../../src/client/index.js';
import { drafts } from '../config/drafts.js';
import { actionText, actOnOne, type Before } from '../model/actions.js';
import { bots, botsVersion, isLoaded, loaded, serviceErrors } from '../model/live.js';
import { may, mayCreate } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { changeQuery, go, route } from '../model/route.js';
import { api } from '../model/session.js';
import { isStopped } from '../model/stopped.js';
import { hrefOfTable } from '../model/table.js';
import { useThrottled } from '../model/throttle.js';
import { Confirm } from '../parts/dialog.js';
import { Icon, type IconName } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { NextTry } from '../parts/next-try.js';
import { Status } from '../parts/status.js';
import { sayError } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { IncidentList } from '../problems/incident.js';
import { botsWith } from '../query/address-query.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { BotConfig } from './bot-config.js';
import { BotLive } from './bot-live.js';
import { CreateBot, type Like } from './create-bot.js';
import { DeletionNote, useSpecifications } from './deletion-note.js';

/** Shortest time between two requests for the incidents, in ms. */
const INCIDENTS_MS = 500;
const TABS = [
  { name: '', title: 'bot.live' },
  { name: 'incidents', title: 'page.incidents' },
  { name: 'config', title: 'term.configuration' },
] as const;

const ACTIONS: { action: BotAction; icon: IconName }[] = [
  { action: 'start', icon: 'start' },
  { action: 'stop', icon: 'stop' },
  { action: 'restart', icon: 'restart' },
  { action: 'delete', icon: 'delete' },
];

export function BotView({ id }: { id: string }) {
  useThrottled(botsVersion, 100);
  const bot = bots.get(id);
  const [last, setLast] = useState(bot);
  const [asking, setAsking] = useState<BotAction>();
  const [busy, setBusy] = useState<BotAction>();
  const [like, setLike] = useState<Like>();
  useEffect(() => {
    if (bot) setLast(bot);
  }, [bot]);
  const asked = route.value.query.get('tab');
  const tab = TABS.find(({ name }) => name === asked)?.name ?? '';
  /** The form stays mounted once opened, so that typed input is not lost. */
  const hadConfig = useRef(false);
  hadConfig.current ||= tab === 'config';

  const act = async (action: BotAction, known?: Before['known']): Promise<void> => {
    setAsking(undefined);
    setBusy(action);
    const isDone = await actOnOne(action, id, known);
    setBusy(undefined);
    if (isDone && action === 'delete') go(hrefOfTable());
  };
  const ask = (action: BotAction): void => {
    if (action === 'start') void act(action);
    else setAsking(action);
  };
  const duplicate = async ({ kind, labels }: BotSnapshot): Promise<void> => {
    try {
      const { config } = await api().bots.config(id);
      const lines = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      setLike({ kind, config, labels: lines.join('\n') });
    } catch (thrown) {
      sayError(thrown, t('create.duplicate'));
    }
  };
  const showTab = (name: string): void => changeQuery({ tab: name });
  useKeys(t('term.bot'), [
    ...TABS.map(({ name, title }, at) => ({
      keys: String(at + 1),
      does: t(title),
      run: () => showTab(name),
    })),
    ...(may('control')
      ? [
          {
            keys: 'r',
            does: t('action.restart'),
            run: () => bot && isPossible('restart') && ask('restart'),
          },
        ]
      : []),
    { keys: 'u', does: t('bot.back'), run: () => go(hrefOfTable()) },
  ]);

  const shown = bot ?? last;
  if (!shown) {
    return (
      <div class="empty">
        {isLoaded.value ? (
          <>
            <h1>{t('bot.unknown', { bot: id })}</h1>
            <p>
              <a href={hrefOfTable()}>{t('bot.back')}</a>
            </p>
          </>
        ) : (
          <Unanswered of={loaded.value} />
        )}
      </div>
    );
  }
  const isRunning = !['stopped', 'failed'].includes(shown.status);
  const isPossible = (action: BotAction): boolean =>
    may('control') &&
    busy === undefined &&
    !(action === 'start' && isRunning) &&
    !(action === 'stop' && shown.status === 'stopped') &&
    // It would start the bot.
    !(action === 'restart' && isStopped(shown));
  return (
    <div class="view-full">
      <ViewHead
        title={
          <>
            <a class="back" href={hrefOfTable()} aria-label={t('bot.back')}>
              <Icon name="left" />
            </a>
            {id}
          </>
        }
        note={
          <>
            {bot ? (
              <a class="pick" href={botsWith('status', shown.status)} title={t('bot.sameStatus')}>
                <Status status={shown.status} />
              </a>
            ) : (
              <Status status="deleted" />
            )}
            <a class="pick muted" href={botsWith('kind', shown.kind)} title={t('bot.sameKind')}>
              {shown.kind}
            </a>
            <NextTry bot={shown} />
            {bot?.status === 'backoff' && may('control') && busy === undefined ? (
              <button type="button" class="quiet as-link" onClick={() => void act('start')}>
                {t('bot.tryNow')}
              </button>
            ) : null}
          </>
        }
      >
        {bot && !may('control') ? <NeedsScope scope="control" to={t('scope.changeBots')} /> : null}
        {bot && may('control')
          ? ACTIONS.map(({ action, icon }) => (
              <button
                key={action}
                type="button"
                class={action === 'delete' ? 'danger' : ''}
                // Not `disabled`: a disabled button loses the focus.
                aria-disabled={!isPossible(action)}
                aria-busy={busy === action}
                onClick={() => isPossible(action) && ask(action)}
              >
                <Icon name={icon} />
                {actionText(action)}
              </button>
            ))
          : null}
        {mayCreate() && bot ? (
          <button type="button" onClick={() => void duplicate(bot)}>
            <Icon name="add" />
            {t('create.duplicate')}
          </button>
        ) : null}
      </ViewHead>
      {bot ? null : (
        <div class="banner bad" role="alert">
          <Icon name="warn" />
          <span>{t('bot.gone')}</span>
        </div>
      )}
      <div class="tabs" role="tablist" aria-label={t('bot.sections')}>
        {TABS.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab === name}
            aria-controls={tab === name ? `part-${name}` : undefined}
            tabIndex={tab === name ? 0 : -1}
            onClick={() => showTab(name)}
            onKeyDown={(event) => moveTab(event, tab, showTab)}
          >
            {t(title)}
            {name === 'config' && drafts.value.has(id) ? (
              <span class="tab-mark" title={t('config.unsaved')}>
                <span class="unseen">{t('config.unsavedUnseen')}</span>
              </span>
            ) : null}
          </button>
        ))}
      </div>
      {TABS.map(({ name }) =>
        name === tab || (name === 'config' && hadConfig.current) ? (
          <div
            key={name}
            class="bot-part"
            id={`part-${name}`}
            role="tabpanel"
            aria-labelledby={`tab-${name}`}
            hidden={name !== tab}
          >
            {name === 'incidents' ? (
              <BotIncidents id={id} sinceMs={shown.since_ms} />
            ) : name === 'config' ? (
              <BotConfig key={shown.kind} bot={shown} isShown={tab === 'config'} />
            ) : (
              <BotLive bot={shown} />
            )}
          </div>
        ) : null,
      )}
      {like ? <CreateBot like={like} onClose={() => setLike(undefined)} /> : null}
      {asking ? (
        <ConfirmOne
          id={id}
          action={asking}
          onYes={(known) => void act(asking, known)}
          onClose={() => setAsking(undefined)}
        />
      ) : null}
    </div>
  );
}

interface ConfirmProps {
  id: string;
  action: BotAction;
  /** @param known what the bot can be created from, if it is to be deleted. */
  onYes: (known: Before['known']) => void;
  onClose: () => void;
}

function ConfirmOne({ id, action, onYes, onClose }: ConfirmProps) {
  const specifications = useSpecifications([id], action === 'delete');
  return (
    <Confirm
      title={t('action.onQuestion', { action: actionText(action), target: id })}
      action={actionText(action)}
      isDangerous={action === 'delete'}
      onYes={() => {
        onClose();
        void specifications.later.then(({ known }) => onYes(known));
      }}
      onClose={onClose}
    >
      {action === 'delete' ? (
        <DeletionNote count={1} known={specifications} />
      ) : (
        <p>{action === 'stop' ? t('bot.staysStopped') : t('bot.restarts')}</p>
      )}
    </Confirm>
  );
}

function moveTab(event: KeyboardEvent, tab: string, showTab: (name: string) => void): void {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (by === 0) return;
  event.preventDefault();
  const at = TABS.findIndex(({ name }) => name === tab);
  const next = TABS[(at + by + TABS.length) % TABS.length];
  if (!next) return;
  showTab(next.name);
  document.getElementById(`tab-${next.name}`)?.focus();
}

/** @param sinceMs start of its status, which every failure changes. The incident report follows shortly after. */
function BotIncidents({ id, sinceMs }: { id: string; sinceMs: number }) {
  const errors = useThrottled(serviceErrors, INCIDENTS_MS);
  const answer = useResource((signal) => api().incidents({ bot: id, signal }), [id], {
    when: [sinceMs, errors],
  });
  const { value } = answer;
  return (
    <div class="page">
      <Unanswered of={answer} />
      {value?.length === 0 ? <p class="muted">{t('bot.noIncidents')}</p> : null}
      {value && value.length > 0 ? (
        <section class="card" aria-label={t('page.incidents')}>
          <IncidentList incidents={value} />
        </section>
      ) : null}
    </div>
  );
}
