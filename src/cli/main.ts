#!/usr/bin/env node
// The signal handlers are installed first, so that a signal during loading also shuts down in order.

import './stop-signals.js';

const { createProgram } = await import('./command-line.js');
await createProgram().parseAsync();
