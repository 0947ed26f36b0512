import { describe, expect, it } from 'vitest';
import { startEdge, type RunningEdge } from '../http/edge.ts';
import { RawConnection } from '../http/raw-http.ts';

const HOST = 'files.test:8081';

const statusOf = async (
  edge: RunningEdge,
  headers: Record<string, string>,
  method = 'POST',
  path = '/change',
): Promise<number> => {
  const connection = await RawConnection.open(edge.port);
  const lines = Object.entries({ host: HOST, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  await connection.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}Content-Length: 0\r\n\r\n`);
  const { status } = await connection.answer();
  connection.destroy();
  return status;
};

const foreign: readonly Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: `http://${HOST}` },
  { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  { 'sec-fetch-site': 'nonsense' },
  { origin: 'http://evil.test' },
  { origin: 'http://files.test' },
  { origin: 'http://files.test:8081.evil.test' },
  { referer: 'http://evil.test/page' },
  { referer: 'nonsense' },
  { origin: 'null' },
  { origin: 'nonsense' },
  { origin: 'https://files.test', host: 'files.test:80' },
  { origin: 'null', host: 'null' },
];

const own: readonly Record<string, string>[] = [
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
  { referer: `http://${HOST}/page` },
  { origin: `http://${HOST}` },
  { origin: `https://FILES.test:8081` },
  // As `proxy_set_header Host $host:$server_port` of nginx has it.
  { origin: 'http://files.test', host: 'files.test:80' },
  { referer: 'https://files.test/page', host: 'files.test:443' },
  { 'sec-fetch-site': 'same-origin', origin: 'http://seen-through-a-proxy.test' },
];

/**
 * @see CVE-2021-46398 (filebrowser) and the netmount of elFinder: requests that another site makes a browser
 *   send
 */
describe('requests that another site triggers', () => {
  it('are refused with refuseCrossSite, whatever their method', async () => {
    const edge = await startEdge({ settings: { refuseCrossSite: true } });
    for (const headers of foreign) {
      for (const method of ['GET', 'POST'])
        expect([headers, await statusOf(edge, headers, method)]).toEqual([headers, 403]);
    }
    for (const headers of own) {
      for (const method of ['GET', 'POST'])
        expect([headers, await statusOf(edge, headers, method)]).toEqual([headers, 200]);
    }
    expect(await statusOf(edge, { 'sec-fetch-site': 'cross-site' }, 'GET', '/ping')).toBe(200);
  });

  it('are refused when they change something by GET and the browser reports nothing', async () => {
    // A picture on a page of plain http with `Referrer-Policy: no-referrer`: the browser sends cookies and
    // nothing else.
    const edge = await startEdge({ settings: { refuseCrossSite: true } });
    expect(await statusOf(edge, {}, 'GET', '/change')).toBe(403);
    expect(await statusOf(edge, {}, 'GET', '/?action=change')).toBe(403);
    expect(await statusOf(edge, {}, 'GET', '/other')).toBe(200);
    expect(await statusOf(edge, {}, 'POST', '/change')).toBe(200);
  });

  it('are served when cross-origin rules accept their page', async () => {
    const edge = await startEdge({
      settings: { refuseCrossSite: true, allowCrossOrigin: true, allowedOrigins: ['https://editor.test'] },
    });
    const from = (origin: string) => ({ origin, 'sec-fetch-site': 'cross-site' });
    expect(await statusOf(edge, from('https://editor.test'))).toBe(200);
    expect(await statusOf(edge, from('https://evil.test'))).toBe(403);
    expect(await statusOf(edge, { 'sec-fetch-site': 'cross-site' }, 'GET')).toBe(403);
  });

  it('are the business of cookies and onlyPOST without it', async () => {
    const edge = await startEdge();
    for (const headers of foreign) expect(await statusOf(edge, headers)).toBe(200);
  });
});
