// What the pictures show: each view, and what a person has done there.

import type { Page } from 'playwright-core';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import type { Service } from '../harness/service.js';
import { makeLink } from '../harness/tokens.js';
import { mockCluster, threeNodes } from './dashboard-cluster.js';
import { show } from './dashboard-page.js';
import { GOOD, JUNIT, NIGHTLY } from './run-files.js';
import { post } from './shots-service.js';

export interface Shot {
  name: string;
  href: string;
  /** Nobody is signed in, or the service has no bots. Default: signed in, with the herd. */
  at?: 'sign-in' | 'empty';
  /** What is done before the picture. The page is in English then. */
  prepare?: (page: Page, service: Service) => Promise<unknown>;
}

type Prepare = Shot['prepare'];

const shot = (name: string, href: string, prepare?: Prepare): Shot => ({
  name,
  href,
  ...(prepare ? { prepare } : {}),
});

const SIGN_IN: Shot[] = [
  shot('sign-in', ''),
  shot('sign-in-wrong', '', async (page) => {
    await page.getByLabel('Digit 1 of 6').click();
    // Of 6 digits, so no PIN has 7.
    await page.route('**/auth/**', (route) =>
      route.fulfill({ status: 401, json: { error: 'wrong pin' } }),
    );
    await page.keyboard.type('000000');
    await page.locator('.sign-in-state .fault').waitFor();
  }),
  shot('sign-in-token', '', async (page) => {
    await page.getByRole('button', { name: 'Sign in with a token' }).click();
    await page.getByLabel('Token').fill('not one');
    await page.keyboard.press('Enter');
    await page.locator('.sign-in-state .fault').waitFor();
  }),
  shot('invitation', '', async (page, service) => {
    const { link } = await makeLink(service, { name: 'Ada', scopes: ['read', 'invoke'] });
    await show(page, `#sign-in=${link}`);
    await page.locator('[data-invitation]').waitFor();
  }),
  shot('invitation-used', '', async (page) => {
    await show(page, '#sign-in=was-used');
    await page.locator('.notice').waitFor();
  }),
].map((one) => ({ ...one, at: 'sign-in' as const }));

const EMPTY: Shot[] = ['overview', 'bots', 'log', 'problems', 'operations', 'runs', 'side'].map(
  (view) => ({
    name: `empty-${view}`,
    href: `#/${view}`,
    at: 'empty' as const,
  }),
);

async function fallOf(service: Service): Promise<number> {
  const { json } = await call(service, 'GET', '/api/incidents?limit=1');
  const [{ at_ms = Date.now() } = {}] = (json as { incidents: { at_ms: number }[] }).incidents;
  return at_ms;
}

const OVERVIEW: Shot[] = [
  shot('overview', '#/overview'),
  shot('overview-end', '#/overview', (page) =>
    page.getByRole('heading', { name: 'Recent incidents' }).scrollIntoViewIfNeeded(),
  ),
  shot('overview-day', '#/overview?from=-24h', (page) => page.locator('.chart canvas').waitFor()),
  shot('overview-teams', '#/overview?by=label:team', async (page) => {
    await page.waitForTimeout(500);
    await page.locator('.herd-cells').hover({ position: { x: 60, y: 50 } });
  }),
  shot('overview-failed', '#/overview?by=label:region&show=failed,backoff'),
  shot('overview-past', '#/overview', async (page, service) => {
    const at = await fallOf(service);
    await show(page, `#/overview?from=${at - 15_000}&to=${at + 6000}&t=${at - 5000}`);
    await page.waitForTimeout(700);
  }),
  shot('overview-unknown', '#/overview', async (page, service) => {
    const at = await fallOf(service);
    await show(page, `#/overview?from=${at - 900_000}&to=${at}&t=${at - 800_000}`);
    await page.waitForTimeout(700);
  }),
  shot('lasso', '#/overview?by=host', async (page) => {
    await page.waitForTimeout(500);
    const cells = page.locator('.herd-cells');
    const box = await cells.boundingBox();
    if (box === null) throw new Error('the herd has no cells');
    const button = page.getByRole('button', { name: 'Select', exact: true });
    if (await button.isVisible()) await button.click();
    await page.mouse.move(box.x + 20, box.y + 30);
    await page.mouse.down();
    for (const [x, y] of [
      [0.9, 40],
      [0.7, 120],
      [0.1, 110],
    ] as const) {
      await page.mouse.move(box.x + box.width * x, box.y + y, { steps: 8 });
    }
    await page.mouse.up();
  }),
  shot('palette', '#/overview', async (page) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('st load-1');
  }),
];

const LOG: Shot[] = [
  shot('log', '#/log?from=-15m'),
  shot('log-query', '#/log?q=-level:info+%22golden+key%22+label:team%3Dart', async (page) => {
    await page.getByLabel('Search lines').click();
    await page.keyboard.press('End');
    await page.keyboard.type(' sc');
    await page.getByRole('option').first().waitFor();
  }),
  shot('log-fault', '#/log?q=stauts:x'),
  shot('log-nothing', '#/log?q=%22nobody+says+this%22'),
  shot('range-picker', '#/log?from=-5m', async (page) => {
    await page.keyboard.press('t');
    await page.getByLabel('Type a time range').fill('noon');
    await page.keyboard.press('Enter');
  }),
  shot('line', '#/log?q=level:error', (page) => page.locator('.log-row').first().click()),
  shot('around', '#/log?q=level:error', async (page) => {
    await page.locator('.log-row').first().click();
    await page.keyboard.press('x');
    await page.waitForTimeout(700);
  }),
  shot('side', '#/side?a=bot:painter-1&b=level:warn,error&c=kind:demo'),
  shot('diff', '#/diff?a=painter-1&b=clumsy'),
  shot('diff-none', '#/diff'),
];

const INCIDENTS: Shot[] = [
  shot('problems', '#/problems', (page) => page.locator('.cause').first().waitFor()),
  shot('cause', '#/problems', async (page) => {
    await page.locator('[data-cause]').first().click();
    await page.locator('.incidents summary').first().click();
  }),
];

const ALERTS: Shot[] = [
  shot('new-rule', '#/problems?new=level%3Aerror+label%3Ateam%3Dart&on=lines', (page) =>
    page.getByRole('dialog').waitFor(),
  ),
  shot('rule-fault', '#/problems', async (page) => {
    await page.getByRole('button', { name: 'New rule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('misspelt');
    await dialog.getByRole('combobox', { name: 'Search lines' }).fill('stauts:x');
    await page.keyboard.press('Tab');
  }),
];

const openFiles: Prepare = async (page) => {
  const input = page.locator('input[type=file]');
  await input.waitFor({ state: 'attached' });
  await input.setInputFiles(
    [NIGHTLY, JUNIT, GOOD, { name: 'broken.ndjson', text: 'not a recording' }].map(
      ({ name, text }) => ({ name, mimeType: '', buffer: Buffer.from(text) }),
    ),
  );
  await page.waitForTimeout(700);
};

const RUNS: Shot[] = [
  shot('runs', '#/runs', openFiles),
  shot('run-log', '#/runs/nightly.ndjson?t=2026-11-20T13:02:09Z&to=2026-11-20T13:02:15Z'),
  shot(
    'run-herd',
    '#/runs/nightly.ndjson?part=herd&t=2026-11-20T13:02:06Z&to=2026-11-20T13:02:15Z',
  ),
  shot('run-problems', '#/runs/nightly.ndjson?part=problems'),
  shot('run-expectations', '#/runs/nightly.ndjson?part=expectations'),
  shot('run-missing', '#/runs/other.ndjson'),
];

const TOKENS: Shot[] = [
  shot('tokens', '#/tokens'),
  shot('new-token', '#/tokens', (page) => page.getByRole('button', { name: 'New token' }).click()),
  shot('new-link', '#/tokens', (page) =>
    page.getByRole('button', { name: 'Sign-in link' }).click(),
  ),
  shot('created-link', '#/tokens', async (page) => {
    await page.getByRole('button', { name: 'Sign-in link' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Ada');
    await page.keyboard.press('Enter');
    await page.locator('[data-created]').waitFor();
  }),
  shot('who-am-i', '#/tokens', async (page) => {
    await page.getByTitle('Who am I, and what may I do').click();
    await page.locator('[data-who-am-i]').waitFor();
  }),
  shot('invitation-in-session', '#/tokens', async (page, service) => {
    const { link } = await makeLink(service, { name: 'Grace', labels: { team: 'atlas' } });
    await show(page, `#sign-in=${link}`);
    await page.getByRole('dialog').waitFor();
  }),
];

async function inCluster(page: Page, list = threeNodes()): Promise<void> {
  await mockCluster(page, list);
  await page.reload();
  await page.getByRole('link', { name: 'Nodes', exact: true }).waitFor();
}

const CLUSTER: Shot[] = [
  shot('nodes', '#/nodes', (page) => inCluster(page)),
  shot('drain', '#/nodes', async (page) => {
    await inCluster(page);
    await page.getByRole('button', { name: 'Drain h1' }).click();
  }),
  shot('cut-off', '#/nodes', (page) =>
    inCluster(page, { ...threeNodes(), state: 'cut_off', reason: 'no answer from NATS for 5 s' }),
  ),
  shot('bots-of-nodes', '#/bots', (page) => inCluster(page)),
];

const OTHERS: Shot[] = [
  shot('settings', '#/settings'),
  shot('help', '#/log', (page) => page.keyboard.press('?')),
  shot('not-found', '#/nowhere'),
  // Last, because a host that hangs is replaced.
  shot('host-hangs', '#/overview?by=host', async (page, service) => {
    const args = { kill: 'host', fault: 'hang', host: 1 };
    await post(service, '/invoke', { session_id: null, command: 'drill', args });
    await page.locator('[data-state=hangs]').waitFor();
  }),
];

const BOTS: Shot[] = [
  shot('bots', '#/bots', (page) =>
    page.getByLabel('Select load-2', { exact: true }).scrollIntoViewIfNeeded(),
  ),
  shot('bots-selected', '#/bots?q=kind:painter', async (page) => {
    await page.getByLabel('Select painter-1', { exact: true }).click();
    await page.getByLabel('Select painter-12', { exact: true }).click();
  }),
  shot('bots-query', '#/bots?q=-status:stopped+label:team%3Datlas,draco+stauts:x', (page) =>
    page.getByLabel('Saved views').click(),
  ),
  shot('bots-columns', '#/bots', (page) => page.getByLabel('Columns', { exact: true }).click()),
  shot('bots-nothing', '#/bots?q=nobody'),
  shot('create', '#/bots', async (page) => {
    await page.getByRole('button', { name: 'New bot' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Kind', { exact: true }).selectOption('painter');
    await dialog.getByRole('button', { name: 'Create' }).click();
  }),
  shot('delete', '#/bots?q=kind:painter', async (page) => {
    await page.getByLabel('Select all shown bots').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').waitFor();
  }),
  shot('bulk', '#/bots?q=kind:painter', async (page) => {
    await page.getByLabel('Select painter-1', { exact: true }).click();
    await page.getByRole('button', { name: 'Run a command' }).click();
    await page.getByRole('dialog').waitFor();
  }),
  shot('bulk-answers', '#/bots?q=kind:demo,painter', async (page) => {
    await page.getByLabel('Select all shown bots').click();
    await page.getByRole('button', { name: 'Run a command' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Command', { exact: true }).selectOption('show');
    await dialog.getByLabel(/^name/).fill('canvas');
    await dialog.getByLabel(/^value/).fill('green');
    await dialog.getByRole('button', { name: /^Run show/ }).click();
    await dialog.getByText(/ answered/).waitFor();
  }),
  shot('bulk-config', '#/bots?q=kind:painter', async (page) => {
    await page.getByLabel('Select all shown bots').click();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByLabel('Change size').check();
    await page.getByLabel('Change colour').check();
  }),
];

const BOT: Shot[] = [
  shot('bot', '#/bots/demo-1'),
  shot('bot-data', '#/bots/painter-1?chart=apples'),
  shot('bot-backoff', '#/bots', async (page, service) => {
    const { json } = await call(service, 'GET', '/api/bots?status=backoff&limit=1');
    const id = (json as { bots: { session_id: string }[] }).bots[0]?.session_id;
    await show(page, `#/bots/${id ?? 'clumsy'}`);
    await page.waitForTimeout(700);
  }),
  shot('bot-long', '#/bots/a-bot-whose-id-is-as-long-as-ids-may-be-in-a-herd-of-many-teams1'),
  shot('bot-unknown', '#/bots/nobody'),
  shot('console-form', '#/bots/demo-1', async (page) => {
    await page.getByRole('button', { name: 'Run with a form' }).click();
    await page.getByRole('dialog').getByLabel('Command').selectOption('say');
  }),
  shot('console', '#/bots/painter-1', async (page) => {
    const line = page.getByRole('combobox', { name: /^Command for/ });
    for (const text of ['show name=canvas value="blue, 40 %"', 'shelve count=0']) {
      await line.fill(text);
      await line.press('Enter');
    }
    await page.locator('[data-call=done]').first().waitFor();
    await line.fill('print ');
    await page.keyboard.press('End');
    await page.keyboard.type('l');
    await page.getByRole('option').first().waitFor();
  }),
  shot('wire', '#/bots/painter-1?q=transport%3Atcp%2Chttp', async (page, service) => {
    await invoke(service, 'painter-1', 'wire', { url: service.url });
    const sent = page.locator('.log-row', { hasText: '"method":"mix"' });
    await sent.last().click({ position: { x: 4, y: 4 } });
    await page.getByRole('radio', { name: 'JSON' }).check();
  }),
  shot('bot-incidents', '#/bots/clumsy?tab=incidents', (page) =>
    page.locator('.incidents summary').first().click(),
  ),
  shot('config', '#/bots/painter-1?tab=config', async (page, service) => {
    await call(service, 'PATCH', '/api/bots/painter-1', {
      body: { config: { greeting: `good day ${Date.now()}`, secret: 'hunter2-hunter2' } },
    });
    await page.reload();
    await page.getByLabel('size').fill('77');
    await page.getByLabel('Labels').fill('team=art\nwall=north');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
  }),
  shot('config-end', '#/bots/painter-1?tab=config', (page) =>
    page.getByRole('heading', { name: 'History' }).scrollIntoViewIfNeeded(),
  ),
  shot('undo', '#/bots/load-1', async (page, service) => {
    // The pictures before left it stopped.
    await post(service, '/api/bots/load-1/start');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
  }),
];

/** An operation of this type, which is begun if there is none. @returns its id. */
async function operationOf(service: Service, type: string): Promise<string> {
  const find = async (): Promise<string | undefined> => {
    const { json } = await call(service, 'GET', '/api/operations');
    const { operations } = json as { operations: { id: string; type: string }[] };
    return operations.find((one) => one.type === type)?.id;
  };
  if ((await find()) === undefined) {
    const rollout = { query: 'kind:painter', config: { greeting: 'good evening' }, canary: 5 };
    const action = { action: 'restart', query: 'kind:synthetic', parallel: 20, stagger_ms: 50 };
    if (type === 'rollout') await post(service, '/api/rollouts', { ...rollout, healthy_ms: 0 });
    else await post(service, '/api/bots/actions?wait=0', action);
  }
  return (await find()) ?? '';
}

const OPERATIONS: Shot[] = [
  shot('operations', '#/operations', async (page, service) => {
    await operationOf(service, 'rollout');
    const id = await operationOf(service, 'action');
    await page.locator(`[data-operation="${id}"]`).waitFor();
  }),
  shot('operation-rollout', '#/operations', async (page, service) => {
    await show(page, `#/operations/${await operationOf(service, 'rollout')}`);
    await page.locator('[data-herd]').waitFor();
  }),
  shot('operation-action', '#/operations', async (page, service) => {
    await show(page, `#/operations/${await operationOf(service, 'action')}`);
    await page.locator('[data-herd]').waitFor();
    await page.locator('.herd-cells').hover({ position: { x: 60, y: 50 } });
  }),
  shot('rollout-form', '#/overview', async (page) => {
    await page.locator('[data-kind=painter]').getByRole('button').last().click();
    await page.getByLabel('Canaries').waitFor();
  }),
  shot('overview-kinds', '#/overview', (page) =>
    page.locator('[data-kind=painter]').scrollIntoViewIfNeeded(),
  ),
];

export const SHOTS: readonly Shot[] = [
  ...SIGN_IN,
  ...EMPTY,
  ...OVERVIEW,
  ...BOTS,
  ...BOT,
  ...LOG,
  ...INCIDENTS,
  ...ALERTS,
  ...RUNS,
  ...OPERATIONS,
  ...TOKENS,
  ...CLUSTER,
  ...OTHERS,
];
