// Names of nodes and of their inboxes on NATS. A single service checks node names too, and loads nothing of the cluster for that.

/** The name of the answering node in `?node=`. No node has this name. */
export const SELF = 'self';
/** Node names are tokens of subjects and keys of buckets. */
export const NODE_NAME = /^(?!self$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** Why it refuses what it needs the others for. */
export const NOT_JOINED = 'this node has not joined the cluster yet';

/** The subjects that answers may go to. A node sends answers to no others. */
export const INBOX = /^(_INBOX|drover\.[A-Za-z0-9-]+\.inbox)\.[A-Za-z0-9._-]+$/;
