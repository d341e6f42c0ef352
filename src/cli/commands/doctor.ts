// `drover doctor`: checks what could keep a service from running well on this machine.

import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { DroverClient } from '../../client/index.js';
import { loadEngine } from '../../front/engine/load.js';
import { allFailed, findKinds, programOptions } from '../../main/bots/kind-modules.js';
import { defaultDataDir, expectPrivate } from '../../main/environment/data-dir.js';
import { fitToOpenFiles } from '../../main/environment/open-files.js';
import { checkTls } from '../../main/environment/tls-snapshot.js';
import { describeLimits, limitSupport } from '../../main/threads/process-limits.js';
import { authorityOf } from '../../shared/contract/addresses.js';
import type { Config } from '../../shared/contract/config.js';
import { messageOf } from '../../shared/errors.js';
import { maxOpenFiles } from '../../shared/open-files.js';
import { askedProfile, limit, profileOf, withProfile } from '../connection/connection.js';
import { configDir } from '../connection/profile.js';
import { EXIT } from '../exit-codes.js';
import { type StartFlags, startFlagsOf, withStartFlags } from '../flags/start-flags.js';
import { NO_INIT } from '../init-process.js';
import { action } from '../terminal/action.js';
import { printJson, printLine } from '../terminal/output.js';

interface DoctorOptions extends StartFlags {
  profile?: string;
  json?: true;
}

/** `warn`: the service starts, but with a problem; `fail`: it does not start. */
export interface Finding {
  check: string;
  result: 'ok' | 'warn' | 'fail';
  message: string;
}

type Found = Omit<Finding, 'check'>;

const ok = (message: string): Found => ({ result: 'ok', message });
const warn = (message: string): Found => ({ result: 'warn', message });
const fail = (message: string): Found => ({ result: 'fail', message });

const MIN_NODE = [20, 19] as const;
const MIB = 2 ** 20;
/** Before the first release: a clock that shows an earlier time was never set. */
const EARLIEST = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const PROBE_MS = 2000;

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check this machine, the configuration and the profile for problems');
  // The flags of `start` describe the service to check, and --profile the profile that the other commands would use.
  withProfile(withStartFlags(command))
    .option('--json', 'print the findings as a JSON list')
    .action(action(doctor));
}

async function doctor(options: DoctorOptions): Promise<number> {
  const findings: Finding[] = [];
  const add = (check: string, found: Found): void => void findings.push({ check, ...found });
  add('node', nodeVersion(process.versions.node));
  const config = await configOf(options);
  if ('result' in config) add('configuration', config);
  else {
    add('configuration', configuration(config, options.config));
    const dataDir = config.data_dir ?? defaultDataDir(process.env);
    add('engine', await engine(config));
    add('port', await port(config));
    add('data directory', dataDirectory(dataDir));
    add('open files', openFiles(config));
    add('memory', memory(config));
    add('process limits', processLimits(config));
    add('kinds', await kinds(config));
    const init = initProcess();
    if (init) add('init', init);
    add('cores', cores(availableParallelism(), config));
    add('clock', clock(dataDir));
    if (config.cluster.servers.length > 0) add('cluster', await cluster(config));
  }
  add('profile', profile(options));
  if (options.json) await printJson(findings);
  else {
    for (const { check, result, message } of findings) {
      await printLine(`${result.padEnd(4)}  ${check.padEnd(14)}  ${message}`);
    }
  }
  return findings.some(({ result }) => result === 'fail') ? EXIT.not_as_expected : EXIT.ok;
}

export function nodeVersion(version: string): Found {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = MIN_NODE;
  const isEnough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return isEnough
    ? ok(version)
    : fail(`${version} is too old; install ${MIN_NODE.join('.')} or later`);
}

async function configOf(options: DoctorOptions): Promise<Config | Found> {
  // Not imported above: other commands do not need it.
  const { loadConfig } = await import('../../main/environment/load-config.js');
  try {
    return loadConfig(options.config, process.env, startFlagsOf(options));
  } catch (thrown) {
    return fail(messageOf(thrown));
  }
}

/** The file has the configuration of bots as it was written: only the kinds know which values are passwords. */
function configuration({ bots, tls }: Config, file: string | undefined): Found {
  try {
    checkTls(tls);
  } catch (thrown) {
    return fail(messageOf(thrown));
  }
  const secret = [
    ...(bots.some(({ config }) => Object.keys(config).length > 0) ? [file] : []),
    tls.key,
  ].filter((path) => typeof path === 'string');
  const open = secret.filter(isReadByAll);
  if (open.length === 0) return ok('valid');
  return warn(
    `valid, but all users can read ${open.join(' and ')}, which can contain passwords or keys; run chmod o-rwx ${open.join(' ')}`,
  );
}

function isReadByAll(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o004) !== 0;
}

async function engine({ engine, http }: Config): Promise<Found> {
  try {
    const { line, fault } = await loadEngine(engine, http.fronts);
    const text = line.replace(/^engine: /, '');
    return fault === undefined ? ok(text) : warn(`${text}; see docs/ENGINES.md`);
  } catch (thrown) {
    return fail(messageOf(thrown));
  }
}

async function port({ http, tls }: Config): Promise<Found> {
  const { host, port } = http;
  const where = authorityOf(host, port);
  const server = createServer();
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => resolve(null));
  });
  server.close();
  if (error === null) return ok(`${where} is free`);
  if (error.code !== 'EADDRINUSE') return fail(`cannot listen on ${where}: ${error.message}`);
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `${tls.cert === null ? 'http' : 'https'}://${authorityOf(name, port)}`;
  try {
    await new DroverClient({ url }).health({ signal: limit(PROBE_MS) });
    return ok(`${where} is in use by a Drover service`);
  } catch {
    return fail(
      `${where} is in use by another program; stop that program, or use another port with --port`,
    );
  }
}

function dataDirectory(dir: string): Found {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    let existing = dir;
    while (!existsSync(existing)) existing = dirname(existing);
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a directory`);
    accessSync(existing, R_OK | W_OK | X_OK);
    // For root access() always succeeds, so try to create something.
    rmdirSync(mkdtempSync(join(existing, '.drover-doctor-')));
    if (existing !== dir) return ok(`${dir} does not exist yet and can be created`);
    expectPrivate(dir);
    const { mode } = statSync(dir);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      return warn(`other users can read ${dir}; run chmod 700 ${dir}`);
    }
    return ok(dir);
  } catch (thrown) {
    return fail(`cannot use ${dir}: ${messageOf(thrown)}; set another with --data-dir`);
  }
}

/** Which limits the system can enforce for bot host processes. */
function processLimits({ hosts }: Config): Found {
  const support = limitSupport();
  const text = describeLimits(support);
  const isUsed =
    hosts.isolation === 'process' || Object.values(hosts.isolation_by_kind).includes('process');
  if (isUsed && support.memory === null) return warn(text);
  if (hosts.process_cpu !== null && support.cpu === null) {
    return warn(`hosts.process_cpu has no effect: ${text}`);
  }
  return ok(text);
}

/** Only in a container. Undefined if process 1 is unknown or not Drover's. */
export function initProcess(commandLine = readCommandLine(1)): Found | undefined {
  if (!/^[^\0]*\bnode\0[^\0]*(?:drover|cli\/main\.js)/.test(commandLine)) return undefined;
  return warn(`the service is process 1 of its container: ${NO_INIT}`);
}

/** Empty when it cannot be read. */
function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** Loads them as the service does, in a bot host. */
async function kinds(config: Config): Promise<Found> {
  const { tryKinds } = await import('../../main/bots/kind-trial.js');
  const found = findKinds(config.kinds, programOptions(config));
  const loaded = await tryKinds(config, found);
  const names = loaded.kinds.map(({ kind }) => kind).join(', ');
  const failed = allFailed(found, loaded.failed).filter(({ helper }) => !helper);
  if (failed.length === 0) return ok(names);
  const reasons = failed.map(({ module, error }) => `${module} does not load: ${error}`);
  return warn(`${reasons.join('; ')}; these load: ${names}`);
}

/** Not imported above: it loads the clients of NATS. */
async function cluster(config: Config): Promise<Found> {
  const { checkCluster } = await import('../cluster/check-cluster.js');
  return await checkCluster(config.cluster);
}

/** Each connection is an open file. */
function openFiles(config: Config): Found {
  const files = maxOpenFiles();
  if (files === null) return ok('no limit');
  const { warning } = fitToOpenFiles(config, availableParallelism(), files);
  return warning === null ? ok(`${files}`) : warn(warning);
}

/** The memory limit of the container, or the memory of the machine. */
function memory({ stream }: Config): Found {
  const limited = process.constrainedMemory();
  const bytes = limited > 0 && limited < totalmem() ? limited : totalmem();
  const needed = stream.ring_bytes + 256 * MIB;
  const text = `${Math.round(bytes / MIB)} MiB`;
  return bytes >= needed
    ? ok(text)
    : warn(
        `${text} is low for a ring of ${Math.round(stream.ring_bytes / MIB)} MiB; reduce stream.ring_bytes`,
      );
}

export function cores(count: number, { http, hosts }: Pick<Config, 'http' | 'hosts'>): Found {
  const threads = http.fronts + (hosts.count ?? Math.max(1, count - 2)) + 1;
  if (threads <= count) return ok(`${count}`);
  if (hosts.count === null && http.fronts === 1)
    return ok(`${count}; fronts, broadcaster and bot hosts share them`);
  return warn(`${count} for ${threads} busy threads; reduce http.fronts or hosts.count`);
}

/** Token expiry and event timestamps depend on the clock. */
function clock(dataDir: string): Found {
  const now = Date.now();
  if (now < EARLIEST) return fail(`the clock is wrong: ${new Date(now).toISOString()}; set it`);
  let newest = 0;
  for (const name of ['pin.txt', 'store.mdb']) {
    try {
      newest = Math.max(newest, statSync(join(dataDir, name)).mtimeMs);
    } catch {
      // The file does not exist yet.
    }
  }
  if (newest > now + MINUTE_MS) {
    return warn(
      `the clock shows ${new Date(now).toISOString()}, but the data directory was written at ${new Date(newest).toISOString()}; check the clock`,
    );
  }
  return ok(new Date(now).toISOString());
}

function profile(options: DoctorOptions): Found {
  try {
    const found = askedProfile(options);
    return found
      ? ok(`${profileOf(options)}, for ${found.url}`)
      : ok(`none in ${configDir(process.env)}; create one with drover login`);
  } catch (thrown) {
    return fail(messageOf(thrown));
  }
}
