import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectDir } from '../../../config/generate.js';
import { validatorsModule } from '../../../config/validators-module.js';
import { SCHEMAS, type SchemaName } from '../../../src/shared/schemas.js';
import { validatorOf } from '../../../src/shared/validators.js';

it('the generated validators are up to date', () => {
  const committed = readFileSync(join(projectDir(), 'src/shared/validators.gen.ts'), 'utf8');
  expect(committed === validatorsModule(), 'out of date: run npm run generate').toBe(true);
});

it('every schema has its own validator', () => {
  const names = Object.keys(SCHEMAS) as SchemaName[];
  const validators = new Set(names.map(validatorOf));
  expect(validators.size).toBe(names.length);
  for (const validate of validators) expect(validate(1)).toBe(false);
});
