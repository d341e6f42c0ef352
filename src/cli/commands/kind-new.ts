// `drover kinds new`: writes a bot that works, with its test.

import { spawnSync } from 'node:child_process';
import { constants, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { SHIPPED } from '../../main/bots/kind-modules.js';
import { BOT_ID, BOT_ID_WORDS } from '../../shared/contract/bot-id.js';
import { messageOf } from '../../shared/errors.js';
import { NEW_BOTS, PACKAGE_DIR, PYTHON_SDK } from '../../shared/package-paths.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { action } from '../terminal/action.js';
import { printLine } from '../terminal/output.js';

type Language = 'js' | 'ts' | 'python';

interface Files {
  /** The text of each file, by its name. */
  texts: Record<string, string>;
  /** What to do next, a line each. */
  next: string[];
}

const INVOKE = `--invoke 'greet={"name":"anna"}'`;
const TSC =
  'npx tsc --module nodenext --target es2023 --types node --strict --noEmitOnError --rewriteRelativeImportExtensions';

export function addKindNew(kinds: Command): void {
  kinds
    .command('new')
    .description('write a working bot, with its test, into the working directory')
    .argument('<name>', 'name of the kind')
    .addOption(
      new Option('--language <language>', 'language of the bot')
        .choices(['js', 'ts', 'python'])
        .default('js'),
    )
    .action(action(newKind));
}

async function newKind(name: string, { language }: { language: Language }): Promise<undefined> {
  if (!BOT_ID.test(name)) {
    throw new CliError(
      EXIT.usage,
      `the name of the kind, ${JSON.stringify(name)}, must be ${BOT_ID_WORDS}`,
    );
  }
  if (SHIPPED.includes(name)) {
    throw new CliError(EXIT.usage, `${name} is a kind that ships with Drover: choose another name`);
  }
  if (language === 'python' && isPythonModule(name)) {
    throw new CliError(
      EXIT.usage,
      `${name}.py would hide the module ${name} of Python: choose another name`,
    );
  }
  const { texts, next } = FILES[language](name);
  const names = Object.keys(texts);
  const there = names.find((file) => existsSync(file));
  if (there !== undefined) {
    throw new CliError(EXIT.failed, `${there} already exists: nothing was written`);
  }
  const written = [...names];
  try {
    // Does not overwrite a file that appears meanwhile.
    for (const file of names) writeFileSync(file, texts[file] ?? '', { flag: 'wx' });
    if (language === 'python' && !existsSync(SDK_FILE)) {
      copyFileSync(PYTHON_SDK, SDK_FILE, constants.COPYFILE_EXCL);
      written.push(SDK_FILE);
    }
  } catch (thrown) {
    throw new CliError(EXIT.failed, `cannot write the files: ${messageOf(thrown)}`);
  }
  await printLine(`wrote ${written.join(', ')}`);
  for (const line of next) await printLine(line);
}

/** Unknown without python3, or before Python 3.10: the bot's test fails then. */
function isPythonModule(name: string): boolean {
  if (`${name}.py` === SDK_FILE) return true;
  const ask = 'import sys; sys.exit(7 * (sys.argv[1] in sys.stdlib_module_names))';
  return spawnSync('python3', ['-c', ask, name]).status === 7;
}

const SDK_FILE = 'drover_bot.py';

/** @param name as a word of a shell needs no quotes: BOT_ID. */
const FILES: Readonly<Record<Language, (name: string) => Files>> = {
  js: (name) => ({
    texts: {
      [`${name}.mjs`]: template('bot.mjs', name),
      [`${name}.test.mjs`]: template('bot.test.mjs', name),
    },
    next: [
      ...installing(),
      `test it:   node --test ${name}.test.mjs`,
      `try it:    drover kinds test ${name}.mjs ${INVOKE}`,
      STARTING,
      creating(name),
    ],
  }),
  ts: (name) => {
    const loads = Boolean((process.features as { typescript?: unknown }).typescript);
    const compile = `compile:   npm install --save-dev typescript @types/node && ${TSC} ${name}.mts ${name}.test.mts`;
    const end = loads ? 'mts' : 'mjs';
    return {
      texts: {
        [`${name}.mts`]: template('bot.mts', name),
        [`${name}.test.mts`]: template('bot.test.mts', name),
      },
      next: [
        ...installing(),
        ...(loads ? [] : [compile]),
        `test it:   node --test ${name}.test.${end}`,
        `try it:    drover kinds test ${name}.${end} ${INVOKE}`,
        STARTING,
        creating(name),
      ],
    };
  },
  python: (name) => ({
    texts: {
      [`${name}.py`]: template('bot.py', name),
      [`${name}_test.py`]: template('bot_test.py', name),
      [`${name}.program.json`]: manifest(name),
    },
    next: [
      `test it:   python3 ${name}_test.py`,
      `try it:    drover kinds test ${name}.py ${INVOKE}`,
      STARTING,
      creating(name),
    ],
  }),
};

const STARTING = 'run it:    drover start --kinds .';

function creating(name: string): string {
  return `a bot:     drover bots create ${name}-1 --kind ${name}`;
}

function template(file: string, name: string): string {
  return readFileSync(join(NEW_BOTS, file), 'utf8').replaceAll('NAME', name);
}

function manifest(name: string): string {
  const properties = {
    greeting: { type: 'string', default: 'hello' },
    every_ms: { type: 'integer', minimum: 100, default: 1000 },
  };
  const config = { type: 'object', properties, additionalProperties: false };
  const command = ['python3', `${name}.py`];
  const description = 'Greets at intervals.';
  return `${JSON.stringify({ command, protocol: 'jsonl', description, config }, null, 2)}\n`;
}

/** How to make `drover/bot-sdk` importable here, if it is not. */
function installing(): string[] {
  try {
    createRequire(join(process.cwd(), 'bot.js')).resolve('drover/package.json');
    return [];
  } catch {
    return [`install:   npm install ${PACKAGE_DIR}`];
  }
}
