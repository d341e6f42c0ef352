// Runs in a bot host. Protocol raw: any program. What it prints are lines.

import { BotError } from '../../bot-sdk/bot-error.js';
import type { ChildProgram } from './child-program.js';
import {
  logErrors,
  marked,
  NO_ARGS,
  type ProgramContext,
  type Protocol,
  quoteFor,
  type Session,
} from './session.js';

const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGKILL',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
  'SIGWINCH',
] as const;

export const RAW: Protocol = {
  commands: () => ({
    send: {
      description: 'Writes a line to the standard input of the program',
      args: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      },
    },
    signal: {
      description: 'Sends a signal to the process group of the program',
      args: {
        type: 'object',
        properties: { name: { type: 'string', enum: [...SIGNALS] } },
        required: ['name'],
        additionalProperties: false,
      },
    },
    eof: { description: 'Closes the standard input of the program', args: NO_ARGS },
  }),
  open: (ctx) => rawSession(ctx),
};

function rawSession(ctx: ProgramContext): Session {
  const log = ctx.log.scope('stdout');
  let program: ChildProgram | undefined;
  let isOver = false;
  return {
    endsLine: true,
    quote: quoteFor(ctx),
    stdout: (line, cutBytes) => log.info(marked(line, cutBytes)),
    stderr: logErrors(ctx),
    stdoutEnded() {
      // At its end it closes everything.
      program?.after(100, () => {
        ctx.log.warn('the program has closed its standard output, and runs on');
      });
    },
    begin(child) {
      program = child;
      ctx.setStatus('running');
    },
    stop: (child, graceMs) => child.stop(graceMs, 0),
    end() {
      isOver = true;
      return null;
    },
    call(command, args) {
      if (!program || isOver) throw new BotError('the program does not run');
      if (command === 'send') program.write(`${args['text']}\n`);
      else if (command === 'signal') program.signal(args['name'] as NodeJS.Signals);
      else program.closeInput();
      return null;
    },
  };
}
