#!/usr/bin/env node
// Runs in main. The entry: a signal that comes while the rest is being loaded is an orderly end too.

import './stop-signals.js';

await import('./command-line.js');
