/** What the demo world's thread offers to main. */
export type DemoWorldMethods = {
  /** Starts the server. Rejects when it cannot listen. */
  listen(input: null): { httpUrl: string };
  close(input: null): void;
};
