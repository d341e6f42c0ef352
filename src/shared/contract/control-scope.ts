/** Scope of the lines about what requests do to bots, and about what the service runs. Bots cannot write in it. */
export const CONTROL_SCOPE = 'drover.control';
