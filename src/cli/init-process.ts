/** What is wrong where a service is process 1 of a container, and what to do, for behind a sentence that says so. */
export const NO_INIT =
  'ended processes that bots have left behind stay as zombies; ' +
  'run the container with an init process (docker run --init, or init: true in a compose file)';
