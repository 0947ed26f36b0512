import type { Socket } from 'node:net';

/**
 * The connections of a server and how many requests each is serving. The server's own list takes a connection on which nothing
 * has been sent yet (browsers open such in advance) for a busy one; a shutdown must not wait for it.
 */
export class Connections {
  readonly #running = new Map<Socket, number>();
  #isClosing = false;

  add(socket: Socket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    this.#running.set(socket, 0);
    socket.once('close', () => this.#running.delete(socket));
  }

  begin(socket: Socket): void {
    this.#running.set(socket, (this.#running.get(socket) ?? 0) + 1);
  }

  end(socket: Socket): void {
    const running = this.#running.get(socket);
    if (running === undefined) return;
    this.#running.set(socket, running - 1);
    if (this.#isClosing && running === 1) socket.destroySoon();
  }

  /** Closes the connections that serve nothing now, and the others as soon as they serve nothing. */
  closeWhenIdle(): void {
    this.#isClosing = true;
    for (const [socket, running] of this.#running) if (running === 0) socket.destroySoon();
  }
}
