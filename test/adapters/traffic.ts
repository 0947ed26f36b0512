import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { FTPContext } from 'basic-ftp';
import ssh2 from 'ssh2';

/** What the protocols of this process send: requests over HTTP and SFTP, commands of FTP, and bytes both ways. */
export const countTraffic = () => {
  let requests = 0;
  const sockets = new Set<Socket>();
  const sessions = new Set<{ _writeReqid: number }>();
  const countRequest = (): void => void (requests += 1);
  const watchSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    sockets.add(socket);
  };
  /** Has a method of a library call another one first, which hands on what it was given. */
  const restores: (() => void)[] = [];
  const watch = (prototype: object, name: string, before: (given: unknown[]) => void): void => {
    const method = Reflect.get(prototype, name) as (...given: unknown[]) => unknown;
    restores.push(() => void Reflect.set(prototype, name, method));
    const watched = function call(this: unknown, ...given: unknown[]): unknown {
      before(given);
      return method.apply(this, given);
    };
    Reflect.set(prototype, name, watched);
  };
  const keepSession = (given: unknown[]): void => {
    const answered = given.pop() as (error: Error | undefined, session: { _writeReqid: number }) => void;
    given.push((error: Error | undefined, session: { _writeReqid: number }) => {
      if (error === undefined) sessions.add(session);
      answered(error, session);
    });
  };
  const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
  return {
    start: (): void => {
      subscribe('http.client.request.start', countRequest);
      subscribe('net.client.socket', watchSocket);
      watch(FTPContext.prototype, 'send', countRequest);
      watch(ssh2.Client.prototype, 'sftp', keepSession);
    },
    end: (): void => {
      unsubscribe('http.client.request.start', countRequest);
      unsubscribe('net.client.socket', watchSocket);
      for (const restore of restores) restore();
    },
    // A session counts its requests from 0.
    requests: (): number => requests + sum([...sessions].map(({ _writeReqid: last }) => last)),
    bytes: (): number => sum([...sockets].map(({ bytesRead, bytesWritten }) => bytesRead + bytesWritten)),
  };
};
