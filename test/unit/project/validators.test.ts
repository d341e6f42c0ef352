import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectDir } from '../../../config/generate.js';
import { VALIDATOR_MODULES, validatorsModule } from '../../../config/validators-module.js';
import { BUS_VALIDATORS } from '../../../src/shared/bus-validators.js';
import { validateConfig } from '../../../src/shared/config-validator.js';
import { HOST_VALIDATORS } from '../../../src/shared/host-validators.js';
import { SCHEMAS, type SchemaName } from '../../../src/shared/schemas.js';
import { type BodySchema, validatorOf } from '../../../src/shared/validators.js';

it.each(Object.entries(VALIDATOR_MODULES))('%s is up to date', (name, schemas) => {
  const committed = readFileSync(join(projectDir(), 'src/shared', name), 'utf8');
  expect(committed === validatorsModule(schemas), 'out of date: run npm run generate').toBe(true);
});

it('every schema has its own validator', () => {
  const names = Object.keys(SCHEMAS) as SchemaName[];
  const validators = new Set(
    names.map((name) => {
      if (name === 'Config') return validateConfig;
      const others = { ...HOST_VALIDATORS, ...BUS_VALIDATORS };
      return others[name as keyof typeof others] ?? validatorOf(name as BodySchema);
    }),
  );
  expect(validators.size).toBe(names.length);
  for (const validate of validators) expect(validate(1)).toBe(false);
});
