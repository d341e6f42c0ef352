// The one place that msgpackr is imported from. `npm run build` bundles it into this file (docs/DEPENDENCIES.md, "In the build").

export { Packr } from 'msgpackr';
