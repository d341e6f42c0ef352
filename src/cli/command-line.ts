// Runs in main. Owns the command line: which commands there are (those that talk to a service are in src/cli), and start,
// which runs one.

import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { loadConfig } from '../main/load-config.js';
import type { Service } from '../main/service.js';
import { tellSystemd } from '../main/systemd.js';
import { messageOf, StartupError } from '../shared/errors.js';
import { isLoopback } from '../shared/tls.js';
import { VERSION } from '../shared/version.js';
import { addBench } from './bench.js';
import { addBots } from './bots.js';
import { addCheck } from './check.js';
import { addCompletion } from './completion.js';
import { dashboardFault } from './dashboard-fault.js';
import { addDoctor } from './doctor.js';
import { EXIT, EXIT_MEANING } from './exit-codes.js';
import { addHelp } from './help.js';
import { addInvoke } from './invoke.js';
import { addLogin } from './login.js';
import { addLogs } from './logs.js';
import { addRecord } from './record.js';
import { type StartFlags, startFlagsOf, withStartFlags } from './start-flags.js';
import { stopSignal } from './stop-signals.js';
import { addTokens } from './tokens.js';
import { addWait } from './wait.js';

const IN_THE_CLEAR =
  'is reachable from other machines, and without TLS the PIN and tokens cross the network in the clear; ' +
  'set tls.cert and tls.key, or --host 127.0.0.1';

interface StartOptions extends StartFlags {
  demo: boolean;
}

const program = new Command('drover')
  .description(
    'Hosts many bots on one machine and streams everything they do to any number of viewers.',
  )
  .version(VERSION)
  .configureOutput({
    outputError: (text) => process.stderr.write(`drover: ${usageLine(text)}\n`),
  })
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))
  .addHelpText(
    'after',
    `
Without a command it runs the service. docs/CLI.md has examples.

Exit codes:
${exitCodes()}`,
  );

withStartFlags(program.command('start', { isDefault: true }).description('run the service'))
  .option('--no-demo', 'start without the demo world and its bots')
  // What is no command comes here, as this is what runs without one.
  .allowExcessArguments()
  .action(start);
for (const add of [
  addLogin,
  addBots,
  addLogs,
  addInvoke,
  addTokens,
  addWait,
  addRecord,
  addCheck,
  addBench,
  addDoctor,
  addCompletion,
  // Behind all others, where commander has its own.
  addHelp,
]) {
  add(program);
}

await program.parseAsync();

function exitCodes(): string {
  return Object.entries(EXIT)
    .map(
      ([name, code]) => `${String(code).padStart(5)}  ${EXIT_MEANING[name as keyof typeof EXIT]}`,
    )
    .join('\n');
}

/** What commander says is wrong, on one line. */
function usageLine(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
  return line.includes('--help')
    ? line
    : `${line}; drover --help and drover <command> --help list what there is`;
}

async function start(options: StartOptions, command: Command): Promise<void> {
  const [unknown] = command.args;
  if (unknown !== undefined) command.error(`unknown command ${JSON.stringify(unknown)}`);
  try {
    const service = await startService(options);
    if (service && !stopSignal.aborted) await once(stopSignal, 'abort');
    tellSystemd('stopping', 'shutting down', warn);
    await service?.stop();
  } catch (thrown) {
    fail(thrown);
  }
  process.exit(0);
}

/** @returns undefined when it was to end before it had begun; nothing of it is left then. */
async function startService(options: StartOptions): Promise<Service | undefined> {
  const flags = startFlagsOf(options);
  if (!options.demo) flags['demo.enabled'] = false;
  const config = loadConfig(options.config, process.env, flags);
  const { Service } = await loadService();
  if (stopSignal.aborted) return undefined;
  try {
    const service = await Service.open(config, availableParallelism(), stopSignal);
    const { host } = config.http;
    const isTls = config.tls.cert !== null;
    await service.start(({ port, pin, pinPath, engine, missingKinds }) => {
      console.log(`PIN=${pin} at ${pinPath}`);
      console.log(`listening on ${isTls ? 'https' : 'http'}://${host}:${port}`);
      console.log(engine);
      tellSystemd('ready', `listening on port ${port}`, warn);
      for (const line of missingKinds) warn(line);
      const fault = dashboardFault();
      if (fault) warn(fault);
      if (!isTls && !isLoopback(host)) warn(`${host} ${IN_THE_CLEAR}`);
      // Without TLS there is nothing to read anew: a terminal that hangs up ends the process as ever, systemd is told.
      if (isTls) process.on('SIGHUP', () => void service.reloadTls());
      else if (process.env['NOTIFY_SOCKET']) {
        process.on('SIGHUP', () => warn('SIGHUP: there is no certificate to read anew'));
      }
    }, stopSignal);
    return service;
  } catch (thrown) {
    // What was cut short is no fault.
    if (stopSignal.aborted) return undefined;
    throw thrown;
  }
}

/** Loads the service only now, so that a native binary that is missing is said in one line. */
async function loadService(): Promise<typeof import('../main/service.js')> {
  try {
    return await import('../main/service.js');
  } catch (thrown) {
    const { platform, arch, version } = process;
    throw new StartupError(
      `a part of the service does not load on ${platform} ${arch} with Node ${version} (${messageOf(thrown)}); ` +
        'install the dependencies again with npm ci',
    );
  }
}

function warn(message: string): void {
  process.stderr.write(`drover: warning: ${message}\n`);
}

function fail(thrown: unknown): never {
  process.stderr.write(`drover: ${messageOf(thrown)}\n`);
  // What is not the operator's surroundings is our fault; the stack helps to find it.
  if (!(thrown instanceof StartupError) && thrown instanceof Error) console.error(thrown.stack);
  process.exit(1);
}
