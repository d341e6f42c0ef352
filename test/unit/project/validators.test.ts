import { expect, it } from 'vitest';
import { BUS_VALIDATORS } from '../../../src/cluster/wire/bus-validators.js';
import { validateConfig } from '../../../src/shared/config-validator.js';
import { validateFleet } from '../../../src/shared/fleet/fleet-validator.js';
import { HOST_VALIDATORS } from '../../../src/shared/host-validators.js';
import { SCHEMAS, type SchemaName } from '../../../src/shared/schemas.js';
import { type BodySchema, validatorOf } from '../../../src/shared/validators.js';

it('every schema has its own validator', () => {
  const names = Object.keys(SCHEMAS) as SchemaName[];
  const validators = new Set(
    names.map((name) => {
      if (name === 'Config') return validateConfig;
      if (name === 'FleetFile') return validateFleet;
      const others = { ...HOST_VALIDATORS, ...BUS_VALIDATORS };
      return others[name as keyof typeof others] ?? validatorOf(name as BodySchema);
    }),
  );
  expect(validators.size).toBe(names.length);
  for (const validate of validators) expect(validate(1)).toBe(false);
});
