import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { firing } from '../model/alerts.js';
import { asked } from '../model/asked.js';
import { cluster } from '../model/cluster.js';
import { mayOpen, ownToken } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { go, hrefTo, route } from '../model/route.js';
import { api, handedToken, session, takeHanded } from '../model/session.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon, type IconName } from '../parts/icons.js';
import { lazyView, loadRest } from '../parts/lazy-view.js';
import { Mark } from '../parts/mark.js';
import { IconTip } from '../parts/tip.js';
import { Toasts } from '../parts/toasts.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { InvitationQuestion } from '../views/invitation.js';
import { OverviewView } from '../views/overview.js';
import { SignIn } from '../views/sign-in.js';
import { Banner, ConnectionState } from './banner.js';
import { HelpSheet } from './help.js';
import { isHelpOpen, isPaletteOpen, useKeys } from './keys.js';
import { WhoAmI, WhoAmIDialogs } from './who-am-i.js';

const VIEWS: { name: string; title: PlainKey; icon: IconName }[] = [
  { name: 'overview', title: 'page.overview', icon: 'overview' },
  { name: 'bots', title: 'term.bots', icon: 'bots' },
  { name: 'log', title: 'page.log', icon: 'log' },
  { name: 'problems', title: 'page.problems', icon: 'warn' },
  { name: 'operations', title: 'page.operations', icon: 'operations' },
  { name: 'activity', title: 'page.activity', icon: 'person' },
  { name: 'runs', title: 'page.runs', icon: 'runs' },
  { name: 'nodes', title: 'page.nodes', icon: 'nodes' },
  { name: 'tokens', title: 'page.tokens', icon: 'tokens' },
  { name: 'settings', title: 'page.settings', icon: 'settings' },
];

/** Of the views that are not in the navigation. */
const TITLES: Readonly<Record<string, PlainKey>> = {
  side: 'page.side',
  diff: 'page.diff',
};

// The overview is what a sign-in leads to; the others are loaded by page.
const BotsView = lazyView(async () => (await import('../views/bots.js')).BotsView);
const BotView = lazyView(async () => (await import('../views/bot.js')).BotView);
const LogView = lazyView(async () => (await import('../views/log.js')).LogView);
const ProblemsView = lazyView(
  async () => (await import('../problems/problems-view.js')).ProblemsView,
);
const ActivityView = lazyView(async () => (await import('../views/activity.js')).ActivityView);
const OperationsView = lazyView(
  async () => (await import('../views/operations.js')).OperationsView,
);
const RunsView = lazyView(async () => (await import('../runs/runs-view.js')).RunsView);
const NodesView = lazyView(async () => (await import('../views/nodes.js')).NodesView);
const TokensView = lazyView(async () => (await import('../views/tokens.js')).TokensView);
const SideView = lazyView(async () => (await import('../side/side-view.js')).SideView);
const DiffView = lazyView(async () => (await import('../side/diff-view.js')).DiffView);
const SettingsView = lazyView(async () => (await import('../views/settings.js')).SettingsView);
const FiringBar = lazyView(async () => (await import('../problems/firing-bar.js')).FiringBar);
// Dialogs that the user opens.
const AskedView = lazyView(async () => (await import('../views/asked.js')).AskedView);
const PaletteView = lazyView(async () => (await import('../palette/palette.js')).PaletteView);

export function App() {
  const now = session.value;
  if (now.state === 'starting') return null;
  return (
    <>
      {/* Keyed by token: another token may see other bots, so no state is carried over. */}
      {now.state === 'out' ? <SignIn /> : <Frame key={now.token} />}
      <Toasts />
      <IconTip />
    </>
  );
}

function Frame() {
  const { view, part } = route.value;
  const mayRuns = ownToken.value !== undefined && mayOpen('runs');
  const kept = useResource(
    async (signal) => (mayRuns ? (await api().runs({ signal })).runs.length : 0),
    [mayRuns],
  );
  // A single service has no nodes to show.
  const pages = VIEWS.filter(
    ({ name }) => mayOpen(name) && (name !== 'nodes' || cluster.value !== null),
  ).map((one) => ({ ...one, title: t(one.title) }));
  // Files of the user are opened there too: the palette always leads to the page.
  const shown = pages.filter(
    ({ name }) => name !== 'runs' || view === 'runs' || (kept.value ?? 0) > 0,
  );
  const title = t(
    VIEWS.find(({ name }) => name === view)?.title ?? TITLES[view] ?? 'page.notFound',
  );
  const fires = firing.value.length;
  const hasBadge = useRef(false);
  useEffect(() => {
    const count = fires > 0 ? `(${numberText(fires)}) ` : '';
    document.title = `${count}${part === '' ? title : part} · Drover`;
  }, [title, part, fires]);
  useEffect(() => {
    // Not before it is needed: most pages have no badge.
    if (fires > 0) hasBadge.current = true;
    if (hasBadge.current) import('../problems/badge.js').then(({ showBadge }) => showBadge(fires));
  }, [fires]);
  useEffect(loadRest, []);
  const before = useRef({ view, part });
  // Move the focus to the new view: the focused element may have gone with the old one.
  useLayoutEffect(() => {
    const { view: wasView, part: wasPart } = before.current;
    before.current = { view, part };
    if (view !== wasView || part !== wasPart) focusContent();
  }, [view, part]);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={focusContent}>
        {t('frame.skip')}
      </button>
      <nav class="nav" aria-label={t('frame.views')}>
        <a class="brand" href={hrefTo('overview')} aria-label={t('frame.home')}>
          <Mark />
          <span>Drover</span>
        </a>
        <div class="nav-links">
          {shown.map(({ name, title, icon }) => (
            <a
              key={name}
              href={hrefTo(name)}
              aria-current={name === view ? 'page' : undefined}
              title={title}
            >
              <Icon name={icon} />
              <span>{title}</span>
              {name === 'problems' && fires > 0 ? <FiringCount count={fires} /> : null}
            </a>
          ))}
        </div>
        <div class="nav-end">
          <ConnectionState />
          <button
            type="button"
            class="quiet"
            title={t('frame.goTo')}
            onClick={() => (isPaletteOpen.value = true)}
          >
            <Icon name="search" />
            <span>{t('frame.goToKey')}</span>
          </button>
          <button
            type="button"
            class="quiet wide-only"
            title={t('frame.keyboard')}
            onClick={() => (isHelpOpen.value = true)}
          >
            <Icon name="help" />
            <span>{t('frame.keyboard')}</span>
          </button>
          <WhoAmI />
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <Banner />
        <div role="status">{fires > 0 ? <FiringBar /> : null}</div>
        <View />
      </main>
      <HelpSheet />
      <HandedToken />
      <InvitationQuestion />
      <WhoAmIDialogs />
      {asked.value ? <AskedView question={asked.value} /> : null}
      {isPaletteOpen.value ? <PaletteView pages={pages} /> : null}
      {cluster.value === null ? null : <NodesKey />}
    </div>
  );
}

function FiringCount({ count }: { count: number }) {
  return (
    <strong class="nav-count" role="img" aria-label={t('alerts.firingCount', { n: count })}>
      {numberText(count)}
    </strong>
  );
}

function NodesKey() {
  useKeys(t('frame.cluster'), [
    { keys: 'g n', does: t('page.nodes'), run: () => go(hrefTo('nodes')) },
  ]);
  return null;
}

function HandedToken() {
  if (handedToken.value === null) return null;
  return (
    <Confirm
      title={t('handed.title')}
      action={t('handed.switch')}
      isDangerous
      onYes={takeHanded}
      onClose={() => (handedToken.value = null)}
    >
      <p>{t('handed.text')}</p>
      <p>{t('signIn.unexpected')}</p>
    </Confirm>
  );
}

function View() {
  const { view, part } = route.value;
  switch (view) {
    case 'overview':
      return <OverviewView />;
    case 'bots':
      return part === '' ? <BotsView /> : <BotView key={part} id={part} />;
    case 'log':
      return <LogView />;
    case 'side':
      return <SideView />;
    case 'diff':
      return <DiffView />;
    case 'problems':
      return <ProblemsView cause={part} />;
    case 'activity':
      return <ActivityView />;
    case 'operations':
      return <OperationsView id={part} />;
    case 'runs':
      return <RunsView />;
    case 'nodes':
      return <NodesView />;
    case 'tokens':
      return <TokensView />;
    case 'settings':
      return <SettingsView />;
    default:
      return (
        <div class="empty">
          <h1>{t('page.notFoundTitle')}</h1>
          <p>
            <a href="#/overview">{t('page.toOverview')}</a>
          </p>
        </div>
      );
  }
}
