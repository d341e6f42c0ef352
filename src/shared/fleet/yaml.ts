// The only module that imports yaml: the build replaces it with a copy that has the package in it.

export type { CST, Node, Pair, YAMLMap } from 'yaml';
export {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  stringify,
} from 'yaml';
