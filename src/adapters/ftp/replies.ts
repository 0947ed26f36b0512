import type { Socket } from 'node:net';
import { LostConnectionError } from '../../remote-store/lost-connection.ts';

/** Characters of one answer that are kept until it is whole. */
const MOST = 64 * 1024;

/**
 * Passes answers on to the library in whole lines: it takes the end of a packet for the end of a line, which
 * a slow network can put anywhere. An answer that nobody has asked for, or that does not end, ends the
 * connection: what came after it would be taken for the answer to something else.
 */
export const watchReplies = (socket: Socket, isAsked: () => boolean, end: (reason: Error) => void): void => {
  const listeners = socket.listeners('data') as ((text: string) => void)[];
  for (const listener of listeners) socket.off('data', listener);
  let rest = '';
  socket.on('data', (chunk: Buffer | string) => {
    if (!isAsked()) return end(new LostConnectionError('the server has said what nobody asked for'));
    rest += chunk.toString();
    if (rest.length > MOST) return end(new LostConnectionError('an answer of the server does not end'));
    const length = rest.lastIndexOf('\n') + 1;
    const lines = rest.slice(0, length);
    rest = rest.slice(length);
    if (lines !== '') for (const listener of listeners) listener.call(socket, lines);
  });
};
