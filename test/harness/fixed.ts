// Values of src/shared/contract/fixed.ts that a test replaces.

import { FIXED } from '../../src/shared/contract/fixed.js';

type Tree = Record<string, unknown>;

/** A test's configuration: what a configuration file may hold, and what is fixed. */
export function splitConfig(config: object): [keys: Tree, fixed: Tree] {
  return split(config, FIXED);
}

function split(config: object, fixed: object): [Tree, Tree] {
  const keys: Tree = {};
  const replaced: Tree = {};
  for (const [name, value] of Object.entries(config)) {
    if (!Object.hasOwn(fixed, name)) keys[name] = value;
    else if (!isTree(value)) replaced[name] = value;
    else {
      const [inner, own] = split(value, (fixed as Tree)[name] as object);
      if (Object.keys(inner).length > 0 || Object.keys(own).length === 0) keys[name] = inner;
      if (Object.keys(own).length > 0) replaced[name] = own;
    }
  }
  return [keys, replaced];
}

function isTree(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
