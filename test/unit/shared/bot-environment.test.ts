import { expect, it } from 'vitest';
import {
  botEnvironment,
  checkPassed,
  keepForBots,
  programEnvironment,
} from '../../../src/shared/bot-environment.js';

const SERVICE = {
  PATH: '/bin',
  LC_TIME: 'C',
  no_proxy: 'localhost',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  MY_TOKEN: 't',
  GAME_ID: '7',
  GAMES: '2',
  DROVER_CLUSTER_SERVERS: '["nats://me:secret@host"]',
  NOTIFY_SOCKET: '/run/notify',
  LISTEN_FDS: '1',
  WATCHDOG_USEC: '1',
  CREDENTIALS_DIRECTORY: '/run/credentials',
  NODE_OPTIONS: '--inspect',
  NODE_V8_COVERAGE: '/tmp',
  AWS_SECRET_ACCESS_KEY: 's',
};
const COMMON = {
  PATH: '/bin',
  LC_TIME: 'C',
  no_proxy: 'localhost',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
};

it('bots get what every program needs, and what the operator names', () => {
  expect(botEnvironment(SERVICE, [])).toEqual(COMMON);
  expect(botEnvironment(SERVICE, ['MY_TOKEN', 'GAME_*'])).toEqual({
    ...COMMON,
    MY_TOKEN: 't',
    GAME_ID: '7',
  });
});

it('never get what is for the service, also when the operator names it', () => {
  const all = ['D*', 'N*', 'L*', 'W*', 'C*'];
  expect(botEnvironment(SERVICE, all)).toEqual(COMMON);
  for (const name of ['DROVER_TOKEN', 'DROVER_*', 'NOTIFY_SOCKET', 'NODE_OPTIONS', 'LISTEN_FDS']) {
    expect(() => checkPassed(['MY_TOKEN', name])).toThrow(
      `${name} is for the service itself, and never passed to bots`,
    );
  }
  checkPassed(['MY_TOKEN', 'D*']);
});

it('names have no case on Windows', () => {
  const env = { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', my_token: 't', Drover_Token: 'x' };
  expect(botEnvironment(env, ['MY_TOKEN'], 'win32')).toEqual({
    Path: 'C:\\bin',
    SystemRoot: 'C:\\Windows',
    my_token: 't',
  });
  expect(botEnvironment(env, ['MY_TOKEN'], 'linux')).toEqual({});
});

it('is removed from the environment of a host, and a program gets its own beside', () => {
  const env: NodeJS.ProcessEnv = { ...SERVICE };
  keepForBots(env, ['GAMES']);
  expect(env).toEqual({ ...COMMON, GAMES: '2' });
  const definition = { command: ['x'], protocol: 'raw' as const, env: { K: { config: 'k' } } };
  const program = { kind: 'p', definition };
  expect(programEnvironment('b', program, { k: 5 })).toMatchObject({
    PATH: process.env['PATH'],
    DROVER_BOT_ID: 'b',
    DROVER_KIND: 'p',
    K: '5',
  });
});
