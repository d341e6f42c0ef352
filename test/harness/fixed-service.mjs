// The command line of the build with other values of src/shared/contract/fixed.ts: FIXED, then the arguments of `drover`. Not from
// its bundle, which has a copy of them.

import '../../dist/src/cli/stop-signals.js';
import { FIXED } from '../../dist/src/shared/contract/fixed.js';

const [values = '{}'] = process.argv.splice(2, 1);
for (const [section, fields] of Object.entries(JSON.parse(values))) {
  Object.assign(FIXED[section], fields);
}
const { createProgram } = await import('../../dist/src/cli/command-line.js');
await createProgram().parseAsync();
