// What `drover doctor` finds that a test cannot arrange on this machine.

import { expect, it } from 'vitest';
import { initProcess } from '../../../src/cli/commands/doctor.js';

it.each(['node\0/app/dist/src/cli/main.js\0start\0', '/usr/bin/node\0/usr/bin/drover\0'])(
  'the service as process 1 of its container: %j',
  (commandLine) => {
    expect(initProcess(commandLine)).toMatchObject({
      result: 'warn',
      message: expect.stringContaining('docker run --init'),
    });
  },
);

it.each([
  '',
  '/sbin/docker-init\0--\0node\0/app/dist/src/cli/main.js\0',
  '/sbin/init\0',
  'node\0server.js\0',
])('another process 1: %j', (commandLine) => {
  expect(initProcess(commandLine)).toBeUndefined();
});
