// `npm run sbom`: writes dist/sbom.cdx.json, what the package installs and contains, as CycloneDX. npm knows what is installed;
// what the build copies into the package (rolldown.config.mjs, dashboard/vite.config.ts) is a development dependency to it.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const BUNDLED = [
  ...['lmdb', 'msgpackr', '@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv'],
  ...['preact', '@preact/signals', 'uplot'],
];

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const command = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const all = JSON.parse(execFileSync('npm', command, { encoding: 'utf8', maxBuffer: 1 << 26 }));

const needs = new Map(all.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
const own = all.metadata.component['bom-ref'];
const direct = new Set([...Object.keys({ ...dependencies, ...optionalDependencies }), ...BUNDLED]);
const nameOf = new Map(
  all.components.map((one) => [one['bom-ref'], one.group ? `${one.group}/${one.name}` : one.name]),
);
const seen = new Set();
const visit = (ref) => {
  if (seen.has(ref)) return;
  seen.add(ref);
  for (const next of needs.get(ref) ?? []) visit(next);
};
const first = needs.get(own).filter((ref) => direct.has(nameOf.get(ref)));
for (const ref of first) visit(ref);

const components = all.components.filter((one) => seen.has(one['bom-ref']));
const kept = all.dependencies.filter(({ ref }) => seen.has(ref));
const graph = [{ ref: own, dependsOn: first }, ...kept];
writeFileSync(
  'dist/sbom.cdx.json',
  `${JSON.stringify({ ...all, components, dependencies: graph }, null, 2)}\n`,
);
