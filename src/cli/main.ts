#!/usr/bin/env node
// The signal handlers are installed first, so that a signal during loading also shuts down in order.

import './stop-signals.js';

await import('./command-line.js');
