// How deep JSON text is nested. It is found in the text, because what handles the value recurses into it.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether the nesting exceeds `maxDepth`. Checked before parsing, because validation and the structured clone recurse into
 * the value. Either result is fine for text that is not JSON.
 */
export function isDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  if (bytes.length <= maxDepth) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) {
      inText = true;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
  }
  return false;
}
