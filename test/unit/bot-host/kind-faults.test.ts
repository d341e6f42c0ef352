// What the author of a kind is told about its definition.

import { expect, it } from 'vitest';
import { checkKind, isMeantAsKind } from '../../../src/bot-host/kind-faults.js';
import { defineBot, Type } from '../../../src/bot-sdk/index.js';

const GOOD = { kind: 'k', config: Type.Object({}), run: () => {} };
const say = { args: Type.Object({}), run: () => {} };

/** As a kind in JavaScript may have it. */
const define = (more: object): object => defineBot({ ...GOOD, ...more } as never);

it.each<[object, string]>([
  [{ kind: undefined }, 'kind is missing'],
  [{ kind: 7 }, 'kind must be a string, not number'],
  [{ kind: 'my/kind' }, 'the name of the kind, "my/kind", must be 1 to 64 letters'],
  [{ config: undefined }, 'config is missing'],
  [{ config: null }, 'config must be an object, not null'],
  [{ config: Type.String() }, 'config must be the schema of an object, not of type string'],
  [{ config: { url: Type.String() } }, 'config is no schema: wrap its keys in Type.Object({ … })'],
  [{ run: undefined }, 'run is missing'],
  [{ run: 'it' }, 'run must be a function, not string'],
  [{ state: {} }, 'state must be a function, not object'],
  [{ command: {} }, 'unknown key command: did you mean commands?'],
  [
    { args: {} },
    'unknown key args: there are kind, description, config, ready, state, commands, run',
  ],
  [{ commands: { say: null } }, 'commands.say.args is missing; commands.say.run is missing'],
  [{ commands: { say: { run() {} } } }, 'commands.say.args is missing'],
  [{ commands: { say: { ...say, arg: 1 } } }, 'unknown key commands.say.arg: did you mean args?'],
  [
    { commands: { say: { ...say, args: Type.Array(Type.String()) } } },
    'commands.say.args must be the schema of an object, not of type array',
  ],
])('%o: %s', (more, reason) => {
  const kind = define(more);
  expect(isMeantAsKind(kind)).toBe(true);
  expect(() => checkKind(kind as never)).toThrow(reason);
});

it.each<object>([
  {},
  { commands: { say }, state: () => 1, description: 'It says.' },
  { config: {} },
  { config: Type.Union([Type.Object({}), Type.Object({ a: Type.String() })]) },
])('%o is a kind', (more) => {
  expect(() => checkKind(define(more) as never)).not.toThrow();
});

it.each([undefined, null, 7, () => {}, class {}, { help() {} }, []])('%o is no kind', (value) => {
  expect(isMeantAsKind(value)).toBe(false);
});
