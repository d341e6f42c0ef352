/** `1 bot`, `2 bots`. */
export function botsText(count: number): string {
  return `${count} ${count === 1 ? 'bot' : 'bots'}`;
}

/** The first texts, and how many there are besides them: `a; b; and 3 more`. @param most that are named. */
export function firstOf(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  return `${texts.slice(0, most).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}
