/**
 * Options of HTTP agents: the time in milliseconds to connect to one of several addresses of a host before
 * the next one is tried. With Node's default of 250, a server on the other side of the world cannot be
 * reached where the last of its addresses is an IPv6 one and this network has none.
 *
 * @see https://github.com/nodejs/node/issues/54359
 */
export const patientAttempts = { autoSelectFamilyAttemptTimeout: 3000 };
