// `drover apply` and `drover export`: bots as a file describes them.

import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import { ApiError, type BotFilter, type FleetPlan } from '../../client/index.js';
import { fleetSummary } from '../../shared/contract/fleet-summary.js';
import type { Fleet } from '../../shared/fleet/read-fleet.js';
import { write } from '../../shared/terminal.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { noBots, withBotSelectors } from '../flags/bot-selectors.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { fleetDiff } from '../terminal/fleet-diff.js';
import { isColored, print, printJson, printLine } from '../terminal/output.js';

interface ApplyOptions extends ConnectionOptions {
  dryRun?: true;
  prune?: true;
  yes?: true;
  json?: true;
  color: boolean;
}

interface ExportOptions extends ConnectionOptions, BotFilter {
  name?: string;
  json?: true;
}

/** Name of the fleet of bots that belong to none. */
const DEFAULT_NAME = 'bots';

export function addFleet(program: Command): void {
  withConnection(
    program
      .command('apply')
      .description('bring the bots to what a fleet file says (docs/FLEET.md)')
      .argument('<file>', 'YAML or JSON; - for standard input'),
  )
    .option('--dry-run', 'only show what would change, and exit with 2 if anything would')
    .option('--prune', 'delete bots of the fleet that the file does not have')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print what changes as JSON')
    .option('--no-color', 'print without colours')
    .action(action(apply));
  withBotSelectors(
    withConnection(
      program
        .command('export')
        .description('print the bots as a fleet file, without their secrets'),
    ),
  )
    .addOption(
      new Option(
        '--name <name>',
        `name of the fleet (default: that of the bots, or ${DEFAULT_NAME})`,
      ),
    )
    .option('--json', 'print JSON instead of YAML')
    .action(action(exportBots));
}

async function apply(file: string, options: ApplyOptions): Promise<number> {
  const { client, call } = connect(options);
  const fleet = await fleetOf(file);
  if (!fleet) return EXIT.failed;
  const { name, bots, placeOf } = fleet;
  const send = async (dry_run: boolean): Promise<FleetPlan> => {
    try {
      const body = { bots, prune: options.prune ?? false, dry_run };
      return await client.applyFleet(name, body, call());
    } catch (thrown) {
      // In a script, 2 says that something would change.
      if (!(thrown instanceof ApiError && thrown.status === 400)) throw thrown;
      throw new CliError(EXIT.failed, thrown.message);
    }
  };
  const plan = await send(true);
  const refused = plan.steps.filter((step) => step.action === 'refuse');
  for (const { id, reason } of refused) complain(`${placeOf(id)}: bot ${id}: ${reason}`);
  const isChanging = plan.steps.length > 0;
  const isLast = refused.length > 0 || options.dryRun || !isChanging;
  if (options.json && isLast) await printJson(plan);
  if (!options.json) {
    await print(...fleetDiff(plan, isColored(options.color)));
    if (isLast) await printLine(fleetSummary(plan, !options.dryRun && !isChanging));
  }
  if (refused.length > 0) return EXIT.failed;
  if (isLast) return isChanging ? EXIT.usage : EXIT.ok;
  if (!options.yes && !(await isAgreed(fleetSummary(plan, false)))) {
    throw new CliError(EXIT.failed, 'nothing was changed');
  }
  const done = await send(false);
  if (options.json) await printJson(done);
  else await printLine(fleetSummary(done, true));
  const failed = done.steps.filter(({ error }) => error !== undefined);
  for (const { id, error } of failed) complain(`bot ${id}: ${error}`);
  return failed.length > 0 ? EXIT.failed : EXIT.ok;
}

/** Undefined for a file with faults, which are on standard error. */
async function fleetOf(file: string): Promise<Fleet | undefined> {
  // Not imported above: other commands need none of it.
  const { openFleet, referencesOf } = await import('../../shared/fleet/fleet-file.js');
  const { readFleet } = await import('../../shared/fleet/read-fleet.js');
  const { FleetFault } = await import('../../shared/fleet/located.js');
  try {
    if (file !== '-') return await openFleet(file);
    let text = '';
    for await (const part of process.stdin.setEncoding('utf8')) text += part;
    return await readFleet(text, '<stdin>', referencesOf(process.cwd()));
  } catch (thrown) {
    if (!(thrown instanceof FleetFault)) throw thrown;
    for (const fault of thrown.faults) complain(fault);
    return undefined;
  }
}

/** Nobody can be asked in a script. */
async function isAgreed(summary: string): Promise<boolean> {
  if (!process.stdin.isTTY) return true;
  write(process.stderr, `${summary}. Apply? [y/N] `);
  for await (const line of createInterface({ input: process.stdin, signal: stopSignal })) {
    return /^y(es)?$/i.test(line.trim());
  }
  return false;
}

async function exportBots({ json, name: asked, ...options }: ExportOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { status, kind, label, node, query } = options;
  const { bots, variables, fleets } = await client.exportFleet({
    ...call(),
    ...{ status, kind, label, node, query },
  });
  if (bots.length === 0) throw noBots(options);
  const [first = DEFAULT_NAME, ...others] = fleets;
  if (others.length > 0) {
    throw new CliError(
      EXIT.failed,
      `the bots belong to several fleets (${fleets.join(', ')}): select those of one, with --query fleet:${first}`,
    );
  }
  if (variables.length > 0) {
    complain(
      `secrets cannot be read; before drover apply set ${variables.length === 1 ? 'the variable' : 'the variables'} ${variables.join(', ')}`,
    );
  }
  const fleet = { name: asked ?? first, bots };
  if (json) {
    await printJson(fleet);
    return;
  }
  const { stringify } = await import('../../shared/fleet/yaml.js');
  await print(stringify(fleet, { lineWidth: 0, aliasDuplicateObjects: false }));
}
