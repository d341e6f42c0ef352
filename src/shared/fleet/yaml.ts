// The only module that imports yaml: the build replaces it with a copy that has the package in it.

export type { Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
export { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify } from 'yaml';
