import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Whether a request stands behind others of its connection, which a client may send without waiting for answers. Until its
 * turn has come its answer goes nowhere, and nobody is told when the client leaves.
 */
const isQueued = (request: IncomingMessage, response: ServerResponse): boolean => {
  if (response.socket !== null || response.writableEnded) return false;
  const { socket } = request;
  // Some hosts hand on requests that never had a connection, or have only something like one.
  return socket.destroyed || (socket.pending as boolean | undefined) === false;
};

/** Waits for the turn of a request on its connection. False: the client has left before. Costs nothing for most. */
export const untilTurn = (request: IncomingMessage, response: ServerResponse): Promise<boolean> | true => {
  if (!isQueued(request, response)) return true;
  const { socket } = request;
  return new Promise((resolve) => {
    const settle = (came: boolean) => (): void => {
      socket.off('close', onGone);
      response.off('socket', onTurn);
      resolve(came);
    };
    const onGone = settle(false);
    const onTurn = settle(true);
    if (socket.destroyed) return onGone();
    // As many as requests fit into one packet, and that is no leak.
    socket.setMaxListeners(0);
    socket.once('close', onGone);
    response.once('socket', onTurn);
  });
};
