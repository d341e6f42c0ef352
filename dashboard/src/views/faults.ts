// Pure. Owns where the service's one-line errors are shown in a form: beside the field that they name, if they name one.

/** @returns by the field's path; '' is the form as a whole. */
export function faultFrom(thrown: unknown): Map<string, string> {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  // `config.nick is missing`, `args.x must be <= 99`, `id must be 1 to 64 letters`.
  const named = /^(id|(?:config|args|restart)(?:\.[\w-]+)+) (.+)$/s.exec(message);
  if (named?.[1] && named[2]) return new Map([[named[1], named[2]]]);
  const isOfId = /^(?:bot \S+ exists already|the id \S+ cannot be used)$/.test(message);
  return new Map([[isOfId ? 'id' : '', message]]);
}
