/** A JSON value, as it can appear in a snapshot's `data`, in command arguments and in results. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
