// Declarations that TypeScript's DOM library lacks.

interface ScriptPolicy {
  createScriptURL(url: string): unknown;
}

declare var trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy }
  | undefined;

declare module '*?sharedworker&url' {
  const url: string;
  export default url;
}
