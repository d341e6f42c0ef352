// Lower case for comparing texts, without rules that depend on neighbouring letters.

/** A capital sigma has two lower cases, by what is beside it, which in JSON may be the letter of an escape. */
export function lowerCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** A text as it is in JSON, without quotes. */
export function lowerCaseJson(text: string): string {
  return lowerCase(JSON.stringify(text).slice(1, -1));
}
