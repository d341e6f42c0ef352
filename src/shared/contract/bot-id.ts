/** Ids of bots: safe in URLs, file names and log lines. */
export const BOT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What an id must be, in an error. */
export const BOT_ID_WORDS =
  '1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or digit';
