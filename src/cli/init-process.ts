/** Why a service should not be process 1 of its container, and what to do: the end of a sentence that says that it is. */
export const NO_INIT =
  'ended processes that bots have left behind stay as zombies; ' +
  'run the container with an init process (docker run --init, or init: true in a compose file)';
