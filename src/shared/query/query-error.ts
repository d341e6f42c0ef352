/** What is wrong with a query, in one line: where, and what would be right. */
export class QueryError extends Error {
  /** Index of the first wrong character, from 0 on. */
  readonly at: number;

  constructor(at: number, message: string) {
    super(`${message} (at character ${at + 1})`);
    this.name = 'QueryError';
    this.at = at;
  }
}
