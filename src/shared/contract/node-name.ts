// Names of nodes. A single service checks them too, and loads nothing of the cluster for that.

/** What `?node=` calls the node that answers. No node has this name. */
export const SELF = 'self';
/** Node names are tokens of subjects and keys of buckets. */
export const NODE_NAME = /^(?!self$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
