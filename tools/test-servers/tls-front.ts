import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';

export const opensslMissing = ![
  '/usr/bin/openssl',
  '/usr/local/bin/openssl',
  '/opt/homebrew/bin/openssl',
].some(existsSync);

/** A key and a self-signed certificate for 127.0.0.1. */
export const makeCertificate = async (): Promise<{ readonly key: string; readonly cert: string }> => {
  const { stdout } = await promisify(execFile)('openssl', [
    ...['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-days', '2', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', '-', '-out', '-'],
  ]);
  const [key = ''] = /-----BEGIN PRIVATE KEY[^]*?-----END PRIVATE KEY-----/u.exec(stdout) ?? [];
  const [cert = ''] = /-----BEGIN CERTIFICATE[^]*?-----END CERTIFICATE-----/u.exec(stdout) ?? [];
  return { key, cert };
};

/** Terminates TLS in front of a server of this machine, and counts the connections of clients. */
export const startTlsFront = async (
  certificate: { readonly key: string; readonly cert: string },
  target: string,
) => {
  const front = createServer(certificate, (socket) => {
    const inner = connect(Number(new URL(target).port), '127.0.0.1');
    socket.on('error', () => inner.destroy()).on('close', () => inner.destroy());
    inner.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(inner).pipe(socket);
  });
  front.on('tlsClientError', () => undefined);
  let made = 0;
  front.on('secureConnection', () => (made += 1));
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const open = (): Promise<number> =>
    new Promise((resolve, reject) => {
      front.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
    });
  const close = async (): Promise<void> => {
    await new Promise((resolve) => front.close(resolve));
  };
  return {
    origin: `https://127.0.0.1:${String((front.address() as AddressInfo).port)}`,
    made: () => made,
    open,
    close,
  };
};
