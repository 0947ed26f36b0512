import type { App } from '../../app.ts';
import { readVersion } from '../../version.ts';
import { reasonOf, TRUSTED, UNTRUSTED, type Findings } from './finding.ts';
import { ask } from './public-address.ts';

/** The running service under its public URL, and the findings about it. */
export interface RunningService {
  /** With a trailing slash. */
  readonly url: URL;
  readonly onlyPOST: boolean;
  /** Size in bytes of a form that must reach the service. */
  readonly formSize: number;
  readonly hasTus: boolean;
  readonly findings: Findings;
  readonly signal: AbortSignal;
}

const describeStranger = (status: number, text: string): readonly [text: string, fix: string] => {
  if (text.includes('UNKNOWN_ACTION'))
    return [
      'the proxy forwards the prefix of the address, which the service does not know',
      'nginx: end proxy_pass with a slash (proxy_pass http://127.0.0.1:8081/;)',
    ];
  if (status >= 502 && status <= 504)
    return [
      `a proxy responds with ${String(status)}: it does not reach the service`,
      'Start the service, and let the proxy name the host and port that it listens on (--host, --port).',
    ];
  if (status >= 300 && status < 400)
    return [
      `the address redirects (${String(status)})`,
      'Use the address after the redirect, in editors too.',
    ];
  if (status === 401 || status === 403)
    return [
      `something before the service responds with ${String(status)}`,
      'Let /ping pass, and give the editor what the proxy asks for.',
    ];
  return [
    `something else responds there (${String(status)})`,
    'Put the connector before the routes of the page, or correct --url.',
  ];
};

const isPing = (status: number, text: string): boolean =>
  status === 200 && /^\{"success":true\}\s*$/u.test(text);

const checkPing = async ({ url, onlyPOST, findings, signal }: RunningService): Promise<boolean> => {
  const { status, headers, ...response } = await askPing(url, signal, { method: onlyPOST ? 'POST' : 'GET' });
  if (!isPing(status, response.text)) {
    findings.broken('service', ...describeStranger(status, response.text));
    return false;
  }
  const [there, here] = [headers.get('x-app-version'), readVersion()];
  if (there !== null && there !== here)
    findings.risk(
      'service.version',
      `version ${there} runs there, and this is ${here}`,
      'Restart the service after updates.',
    );
  findings.ok('service', `the service responds at ${url.href}`);
  return true;
};

const askPing = async (url: URL, signal: AbortSignal, init: RequestInit, bytes?: number) => {
  const response = await ask(new URL('ping', url), signal, init, bytes);
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** Checks whether resumable uploads reach the service, by a version that every service rejects. */
const checkTus = async ({ url, hasTus, findings, signal }: RunningService): Promise<boolean> => {
  if (!hasTus) return false;
  const headers = { 'tus-resumable': '0.0.0' };
  const response = await ask(new URL('tus', url), signal, { method: 'POST', headers });
  await response.body?.cancel();
  const isThere = response.headers.get('tus-resumable') !== null;
  if (isThere) findings.ok('service.tus', 'uploads in parts reach the service');
  else
    findings.risk(
      'service.tus',
      `uploads in parts do not reach the service: /tus gets ${String(response.status)}`,
      'Let the proxy forward all requests below the address of the service.',
    );
  return isThere;
};

/** Sends a large form that reaches no action. */
const checkFormSize = async (service: RunningService): Promise<void> => {
  const { url, formSize, findings, signal } = service;
  const takesParts = await checkTus(service);
  const megabytes = formSize / 1024 ** 2;
  const form = `a form of ${String(Math.ceil(megabytes))} MB`;
  const fix = `nginx: client_max_body_size ${String(Math.ceil(megabytes * 1.2))}m; proxy_request_buffering off;`;
  const body = new FormData();
  body.set('files[0]', new Blob([new Uint8Array(formSize)]), 'doctor.bin');
  try {
    const { status, text } = await askPing(url, signal, { method: 'POST', body }, formSize);
    if (isPing(status, text)) findings.ok('service.form', `${form} gets through`);
    else if (takesParts)
      findings.risk(
        'service.form',
        `${form} gets ${String(status)}: it goes through in parts, from clients that send them`,
        fix,
      );
    else findings.broken('service.form', `${form} gets ${String(status)}`, fix);
  } catch (error) {
    signal.throwIfAborted();
    findings.broken('service.form', `${form} does not get through: ${reasonOf(error)}`, fix);
  }
};

const checkPreflight = ({ status, headers }: Response, page: string, isSure: boolean, findings: Findings) => {
  const allowed = headers.get('access-control-allow-origin');
  if (status === 200 && allowed === page) return findings.ok('cors', `pages of ${page} may use the service`);
  if (allowed?.includes(',') === true)
    return findings.broken(
      'cors',
      'the CORS headers come twice, which browsers refuse',
      'Remove add_header Access-Control-... from the proxy: the service sends them.',
    );
  const text = `pages of ${page} may not use the service`;
  const fix = `Set "allowCrossOrigin": true and "allowedOrigins": ["${page}"]`;
  if (isSure) findings.broken('cors', text, fix);
  else findings.risk('cors', `${text}, unless it is on the same host`, fix);
};

const preflight = (page: string): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    origin: page,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  },
});

/** Checks whether a page may use the service, when no URL of a running service is known. */
export const checkPageInside = async (
  app: Pick<App, 'fetch'>,
  page: string,
  findings: Findings,
): Promise<void> => {
  const response = await app.fetch(new Request('http://doctor.invalid/', preflight(page)));
  await response.body?.cancel();
  checkPreflight(response, page, false, findings);
};

const checkPageAt = async ({ url, findings, signal }: RunningService, page: string): Promise<void> => {
  if (page.startsWith('https:') && url.protocol === 'http:')
    findings.broken(
      'service.mixed',
      `browsers do not call ${url.origin} from a page of ${page}: it is not https`,
      'Put the service behind the https of the site (docs/deployment.md).',
    );
  if (page === url.origin) return findings.ok('cors', 'page and service are on one host');
  const response = await ask(url, signal, preflight(page));
  await response.body?.cancel();
  checkPreflight(response, page, true, findings);
};

/** Sends requests to the running service, through proxies in front of it. Nothing is stored. */
export const checkService = async (service: RunningService, page: string | undefined): Promise<void> => {
  try {
    if (!(await checkPing(service))) return;
    if (page !== undefined) await checkPageAt(service, page);
    await checkFormSize(service);
  } catch (error) {
    service.signal.throwIfAborted();
    const reason = reasonOf(error);
    const fix = UNTRUSTED.test(reason) ? TRUSTED : 'Start the service, or correct --url.';
    service.findings.broken('service', `${service.url.href} does not respond: ${reason}`, fix);
  }
};
