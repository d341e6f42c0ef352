// Names of nodes and of their inboxes on NATS. A single service checks node names too, and loads nothing of the cluster for that.

/** What `?node=` calls the node that answers. No node has this name. */
export const SELF = 'self';
/** Node names are tokens of subjects and keys of buckets. */
export const NODE_NAME = /^(?!self$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** Why it refuses what it needs the others for. */
export const NOT_JOINED = 'this node has not joined the cluster yet';

/** Where answers go: to nothing else a node sends what it was asked. */
export const INBOX = /^(_INBOX|drover\.[A-Za-z0-9-]+\.inbox)\.[A-Za-z0-9._-]+$/;
