import { Command } from 'commander';
import { complain, write } from '../shared/terminal.js';
import { VERSION } from '../shared/version.js';
import { addActivity } from './commands/activity.js';
import { addBots } from './commands/bot-commands.js';
import { addCheck } from './commands/check.js';
import { addCluster } from './commands/cluster-try.js';
import { addCompletion } from './commands/completion.js';
import { addDoctor } from './commands/doctor.js';
import { addFleet } from './commands/fleet-commands.js';
import { addHelp } from './commands/help.js';
import { addIncidents } from './commands/incidents.js';
import { addInvoke } from './commands/invoke.js';
import { addKinds } from './commands/kind-commands.js';
import { addLogin } from './commands/login.js';
import { addLogs } from './commands/logs.js';
import { addNodes } from './commands/node-commands.js';
import { addOperations } from './commands/operation-commands.js';
import { addPressure } from './commands/pressure.js';
import { addPrune } from './commands/prune.js';
import { addRecord } from './commands/record.js';
import { addRollout } from './commands/rollout-commands.js';
import { addRules } from './commands/rule-commands.js';
import { addStart } from './commands/start.js';
import { addTokens } from './commands/token-commands.js';
import { addTop } from './commands/top.js';
import { addWait } from './commands/wait.js';
import { addWhoami } from './commands/whoami.js';
import { EXIT, EXIT_MEANING } from './exit-codes.js';

export function createProgram(): Command {
  const program = new Command('drover')
    .description('Run many bots and stream everything they do to any number of viewers.')
    .version(VERSION)
    .configureOutput({
      writeOut: (text) => void write(process.stdout, text),
      outputError: (text) => complain(usageLine(text)),
    })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))
    .addHelpText('after', helpFooter());

  for (const add of [
    addStart,
    addLogin,
    addBots,
    addFleet,
    addLogs,
    addInvoke,
    addKinds,
    addIncidents,
    addActivity,
    addOperations,
    addRollout,
    addRules,
    addTop,
    addPressure,
    addNodes,
    addCluster,
    addTokens,
    addWhoami,
    addWait,
    addRecord,
    addCheck,
    addDoctor,
    addPrune,
    addCompletion,
    // Last in the list, where commander puts its own.
    addHelp,
  ]) {
    add(program);
  }
  return program;
}

function helpFooter(): string {
  const exitCodes = Object.entries(EXIT).map(
    ([name, code]) => `${String(code).padStart(5)}  ${EXIT_MEANING[name as keyof typeof EXIT]}`,
  );
  return `
Without a command, drover runs the service. docs/CLI.md has examples.

Exit codes:
${exitCodes.join('\n')}`;
}

/** commander's error text, which can have several lines, as one line. */
function usageLine(text: string): string {
  const line = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
  return line.includes('--help')
    ? line
    : `${line}; run drover --help or drover <command> --help for usage`;
}
