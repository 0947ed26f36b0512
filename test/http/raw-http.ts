import { connect, type Socket } from 'node:net';

/** A raw answer of a server. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

const opened = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });

/** A connection that bytes are written to as they are. */
export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #ended = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#ended = true;
    });
  }

  static async open(port: number): Promise<RawConnection> {
    return new RawConnection(await opened(port));
  }

  get received(): string {
    return this.#received;
  }

  get isClosed(): boolean {
    return this.#ended;
  }

  /** Writes and waits while the peer does not keep up. False when the connection is gone. */
  write(data: string | Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#ended || this.#socket.destroyed) resolve(false);
      else this.#socket.write(data, (error) => resolve(!error));
    });
  }

  /** The head and the body, which may come in chunks; less when the connection ends before. */
  async answer(): Promise<RawAnswer> {
    while (!this.#received.includes('\r\n\r\n') && !this.#ended) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const status = Number(/^HTTP\/1\.1 (\d+)/u.exec(this.#received)?.[1]);
    const length = Number(/content-length: (\d+)/iu.exec(this.#received)?.[1] ?? 0);
    const start = this.#received.indexOf('\r\n\r\n') + 4;
    const isChunked = /^transfer-encoding: chunked/imu.test(this.#received.slice(0, start));
    const isWhole = (): boolean =>
      isChunked ? this.#received.endsWith('0\r\n\r\n') : this.#received.length >= start + length;
    while (!isWhole() && !this.#ended) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { status, text: this.#received.slice(start) };
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

const BOUNDARY = 'line';

/** One part of a form, written by hand. */
export const part = (headers: string, content: string | Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\n`),
    typeof content === 'string' ? Buffer.from(content) : content,
    Buffer.from('\r\n'),
  ]);

export const formEnd = Buffer.from(`--${BOUNDARY}--\r\n`);
export const formType = `multipart/form-data; boundary=${BOUNDARY}`;

/** A text field and a file, as browsers write them. */
export const fieldPart = (name: string, value: string): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
export const filePart = (name: string, filename: string, content: string | Uint8Array): Buffer =>
  part(
    `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: image/png`,
    content,
  );

/** A POST with this form. */
export const formOf = (...parts: readonly Uint8Array[]): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': formType },
  body: Buffer.concat([...parts, formEnd]),
});
