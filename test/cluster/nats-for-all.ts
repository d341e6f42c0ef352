// Global setup: one NATS server for the services of all files (startService). Each is a node in a separate cluster.

import type { TestProject } from 'vitest/node';
import { NatsServer } from '../harness/nats.js';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await NatsServer.start();
  project.config.env = { ...project.config.env, TEST_NATS: server.url };
  return () => server.stop();
}
