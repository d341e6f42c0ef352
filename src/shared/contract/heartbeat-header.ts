/** Header of an event stream: a connection that is silent has a comment that often, in ms (`stream.heartbeat_ms`). */
export const HEARTBEAT_HEADER = 'Drover-Heartbeat-Ms';
