/** No answer came within the time; the connection was given up. */
export class SilenceError extends Error {}

/** The connection ended while something waited for its answer. */
export class LostConnectionError extends Error {}
