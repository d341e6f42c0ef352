// Runs in main. Owns the service for as long as the process runs: `drover start` loads it, prints where it listens and stops
// it on a signal.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { tellSystemd } from '../../main/environment/systemd.js';
import type { Service } from '../../main/service/service.js';
import { authorityOf } from '../../shared/contract/addresses.js';
import type { Config } from '../../shared/contract/config.js';
import { messageOf, StartupError } from '../../shared/errors.js';
import { DASHBOARD_DIR } from '../../shared/package-paths.js';
import { complain, safeText, write } from '../../shared/terminal.js';
import { type StartFlags, startFlagsOf, withStartFlags } from '../flags/start-flags.js';
import { NO_INIT } from '../init-process.js';
import { die, onOtherSignals, stopSignal } from '../stop-signals.js';

const CLEARTEXT =
  'is reachable from other machines, and without TLS the PIN and tokens cross the network unencrypted; ' +
  'set tls.cert and tls.key, or use --host 127.0.0.1';

const PIN_OFF =
  'the PIN is switched off (auth.pin); drover tokens create --data-dir creates a token';

export function addStart(program: Command): void {
  withStartFlags(
    program
      .command('start', { isDefault: true })
      .description('run the service; the default when no command is given'),
  )
    // As the default command it also receives every unknown command name.
    .allowExcessArguments()
    .action(start);
}

async function start(options: StartFlags, command: Command): Promise<void> {
  // A reader that is gone, or a file on a full disk, must not end the service.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const [unknown] = command.args;
  if (unknown !== undefined) command.error(`unknown command ${JSON.stringify(unknown)}`);
  onSignals(() => warn('SIGHUP: the service is still starting, nothing is reloaded'));
  try {
    const service = await startService(options);
    let removed: StartupError | undefined;
    if (service && !stopSignal.aborted) {
      const stopped = once(stopSignal, 'abort').then(() => undefined);
      removed = await Promise.race([stopped, service.removed]);
    }
    tellSystemd('stopping', 'shutting down', warn);
    const stuck = (await service?.stop()) ?? [];
    if (removed) throw removed;
    if (stuck.length > 0) endByForce(stuck);
  } catch (thrown) {
    fail(thrown);
  }
  process.exit(0);
}

/**
 * Ends the process without its threads: process.exit() waits for them. Native code can block a bot host for
 * ever, and LMDB locks a journal for ever that is ended in the middle of a write.
 */
function endByForce(stuck: readonly string[]): never {
  for (const thread of stuck) {
    warn(`${thread} does not exit; everything else has ended, and the process ends without it`);
  }
  return die();
}

/** @returns undefined when a signal arrived during the start; everything that had started is stopped by then. */
async function startService(options: StartFlags): Promise<Service | undefined> {
  const flags = startFlagsOf(options);
  // Not imported above: most commands need neither this nor the service.
  const { loadConfig } = await import('../../main/environment/load-config.js');
  const load = (): Config => loadConfig(options.config, process.env, flags);
  const config = load();
  const { Service } = await loadService();
  if (stopSignal.aborted) return undefined;
  try {
    const service = await Service.open(config, availableParallelism(), stopSignal);
    const { host } = config.http;
    const isTls = config.tls.cert !== null;
    await service.start(({ port, pin, engine, warnings }) => {
      say(pin ? `PIN=${pin.value} at ${pin.path}` : PIN_OFF);
      say(`listening on ${isTls ? 'https' : 'http'}://${authorityOf(host, port)}`);
      say(engine);
      tellSystemd('ready', `listening on port ${port}`, warn);
      for (const line of warnings) warn(line);
      if (!existsSync(`${DASHBOARD_DIR}/index.html`)) {
        warn(
          `the dashboard is not built (${DASHBOARD_DIR} is missing), so GET / answers 404; run npm run build`,
        );
      }
      if (!isTls && !isLoopback(host)) warn(`${host} ${CLEARTEXT}`);
      if (process.pid === 1) warn(`this is process 1 of its container: ${NO_INIT}`);
      onSignals(() => void service.reload(load).then((lines) => lines.forEach(say)));
    }, stopSignal);
    return service;
  } catch (thrown) {
    // An interrupted start is not an error.
    if (stopSignal.aborted) return undefined;
    throw thrown;
  }
}

/** Imports the service late, so that a missing native binary is one line of error text. */
async function loadService(): Promise<typeof import('../../main/service/service.js')> {
  try {
    return await import('../../main/service/service.js');
  } catch (thrown) {
    const { platform, arch, version } = process;
    throw new StartupError(
      `a part of the service does not load on ${platform} ${arch} with Node ${version} (${messageOf(thrown)}); ` +
        'reinstall the dependencies with npm ci',
    );
  }
}

function onSignals(reload: () => void): void {
  const ignored = (signal: string): void => warn(`${signal} has no meaning here and is ignored`);
  onOtherSignals({ reload, ignored });
}

/** One line on standard output. */
function say(line: string): void {
  write(process.stdout, `${safeText(line)}\n`);
}

function warn(message: string): void {
  complain(`warning: ${message}`);
}

function fail(thrown: unknown): never {
  complain(messageOf(thrown));
  // Anything but a StartupError is a bug; the stack helps to find it.
  if (!(thrown instanceof StartupError) && thrown instanceof Error) {
    write(process.stderr, `${thrown.stack}\n`);
  }
  process.exit(1);
}

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
