// Tools that need the harness of the tests.

import { defineConfig } from 'vitest/config';
import tests from './vitest.config.js';

export default defineConfig({ test: { ...tests.test, include: ['test/cluster/**/*.tool.ts'] } });
