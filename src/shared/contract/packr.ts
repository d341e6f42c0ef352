// The one place that msgpackr is imported from. `npm run build` bundles it into this file (docs/decisions/0045-bundled-storage.md).

export { Packr } from 'msgpackr';
