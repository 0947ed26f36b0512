import { TimeLimit } from '../../basics/concurrency/abort.ts';
import type { App } from '../../app.ts';
import { givesUrls } from '../../adapters/table.ts';
import type { SourceConfig } from '../../config/types.ts';
import { reasonOf, TRUSTED, UNTRUSTED, type Findings } from './finding.ts';
import type { Probe } from './store-checks.ts';

/** Addresses from the command line. */
export interface Addresses {
  /** URL of the service for browsers; with a trailing slash. */
  readonly service?: URL | undefined;
  /** Origin of the page with the editor: `https://www.example.com`. */
  readonly page?: string | undefined;
}

/** The probe, where it is requested, and the findings. */
export interface Search {
  readonly app: Pick<App, 'fetch' | 'urlFor'>;
  readonly config: SourceConfig;
  readonly probe: Probe;
  readonly findings: Findings;
  readonly signal: AbortSignal;
}

const REQUEST_MS = 10_000;
/** 4 Mbit/s. */
const SLOWEST_BYTES_PER_MS = 500;

/**
 * Sends a request of so many bytes with a time limit. Follows no redirect: a login page must be detected.
 */
export const ask = (
  url: URL | string,
  signal: AbortSignal,
  init: RequestInit = {},
  bytes = 0,
): Promise<Response> =>
  // The limit includes reading the body.
  fetch(url, {
    redirect: 'manual',
    ...init,
    signal: new TimeLimit(REQUEST_MS + bytes / SLOWEST_BYTES_PER_MS, signal).signal,
  });

const START = 500;

const beginningOf = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  // The body of `fetch` in Node is iterable; leaving the loop cancels the rest.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= START) break;
  }
  return text.slice(0, START);
};

/** URL of the probe for browsers; undefined when the base URL is only a path and the host is unknown. */
const linkOf = ({ app, config: { name, baseurl = '' }, probe }: Search, { service, page }: Addresses) => {
  const base = page ?? service?.origin;
  if (baseurl.startsWith('/') && base === undefined) return undefined;
  const url = new URL(`${baseurl}${probe.name}`, base);
  // The signature, in a source with signed links.
  url.search = new URL(app.urlFor(name, probe.name), 'http://doctor.invalid/').search;
  return url;
};

const fixOf = (status: number, text: string, { key, storageAdapter }: SourceConfig): string => {
  const name = `sources.${key}.baseurl`;
  if (status === 200)
    return /^\s*</u.test(text)
      ? `A page responds there: correct ${name}, or serve the files before the routes of the page.`
      : `Correct ${name}: it leads to other files.`;
  if (status === 404)
    return `Point the web server to the root of the source (nginx: alias, with slashes at both ends), or correct ${name}.`;
  if (status >= 300 && status < 400)
    return `Write the address after the redirect into ${name}, without a login before it.`;
  if (status !== 401 && status !== 403) return `Read the log of the web server behind ${name}.`;
  return givesUrls(storageAdapter) === true
    ? `Let the service serve the files: remove ${name} and set "serve": "public" (docs/serving.md).`
    : 'Let the web server read the folder: its user needs the right to enter it and all folders above.';
};

const checkResponse = async (url: URL, response: Response, { config, probe, findings }: Search) => {
  const { status, headers } = response;
  const text = await beginningOf(response);
  const at = `${url.origin}${url.pathname}`;
  if ((status === 401 || status === 403) && config.settings.serve === 'protected')
    return findings.ok('baseurl', `${config.baseurl ?? ''} refuses strangers`);
  if (status !== 200 || text !== probe.content) {
    const result =
      status === 200 ? 'something else than the file' : `${String(status)} for a file that is there`;
    return findings.broken('baseurl', `${at} responds with ${result}`, fixOf(status, text, config));
  }
  findings.ok('baseurl', `browsers can read files at ${config.baseurl ?? at}`);
  if (headers.get('x-content-type-options') !== 'nosniff')
    findings.risk(
      'baseurl.nosniff',
      'files come without X-Content-Type-Options: uploads may run as scripts',
      'nginx: add_header X-Content-Type-Options nosniff always;',
    );
};

const checkPage = (url: URL, { headers }: Response, page: string, findings: Findings): void => {
  if (page.startsWith('https:') && url.protocol === 'http:')
    findings.broken(
      'baseurl.mixed',
      `browsers do not load ${url.origin} in a page of ${page}: it is not https`,
      'Serve the files over https, and write https into baseurl.',
    );
  const allowed = headers.get('access-control-allow-origin');
  if (url.origin === page || allowed === '*' || allowed === page) return;
  findings.risk(
    'baseurl.cors',
    `pages of ${page} can show the files but not read them (canvas, fetch)`,
    `nginx: add_header Access-Control-Allow-Origin ${page} always; (a bucket: its CORS rules)`,
  );
};

export const checkBaseurl = async (search: Search, addresses: Addresses): Promise<void> => {
  const { config, findings, signal } = search;
  const url = linkOf(search, addresses);
  if (url === undefined)
    return findings.risk(
      'baseurl',
      `whether ${config.baseurl ?? ''} leads to the files is not known: it is a path`,
      'Run again with --page-origin https://the-site-of-the-pages',
    );
  const { page } = addresses;
  try {
    const response = await ask(url, signal, page === undefined ? {} : { headers: { origin: page } });
    await checkResponse(url, response, search);
    if (page !== undefined) checkPage(url, response, page, findings);
  } catch (error) {
    signal.throwIfAborted();
    const reason = reasonOf(error);
    findings.broken(
      'baseurl',
      `${url.origin} does not respond: ${reason}`,
      UNTRUSTED.test(reason)
        ? TRUSTED
        : `Start the web server behind sources.${config.key}.baseurl, or correct it.`,
    );
  }
};

/** Checks whether a request without login gets a file, or is denied, as the setting `serve` promises. */
export const checkServing = async (search: Search): Promise<void> => {
  const { app, config, probe, findings, signal } = search;
  const { name, settings } = config;
  const url = new URL(`/file/${encodeURIComponent(name)}/${probe.name}`, 'http://doctor.invalid/');
  url.search = new URL(app.urlFor(name, probe.name), url).search;
  const response = await app.fetch(new Request(url, { signal }));
  const { status, headers } = response;
  const text = await beginningOf(response);
  if (settings.serve === 'protected' && (status === 401 || status === 403))
    return findings.ok('serve', 'the service serves the files, and refuses strangers');
  if (status === 302 && settings.delivery === 'redirect')
    return checkRedirect(headers.get('location') ?? '', search);
  if (status === 200 && settings.delivery.startsWith('x-'))
    return findings.ok('serve', `the web server is asked to send the files (${settings.delivery})`);
  if (status === 200 && text === probe.content) return reportServed(config, findings);
  findings.broken(
    'serve',
    `the service responds with ${String(status)} for a file that is there`,
    settings.delivery === 'redirect' && status === 501
      ? 'npm install @aws-sdk/s3-request-presigner'
      : 'Check the access rules: stowage explain ROLE fileDownload /',
  );
};

const checkRedirect = async (location: string, { probe, findings, signal }: Search): Promise<void> => {
  const reached = await ask(location, signal).then(beginningOf).catch(reasonOf);
  signal.throwIfAborted();
  if (reached === probe.content)
    return findings.ok('serve', 'the service redirects to the bucket, which responds');
  findings.broken(
    'serve',
    `the redirect to the bucket leads to something else: ${reached.slice(0, 80)}`,
    'Allow the key to read the objects, or set "delivery": "stream".',
  );
};

/** Reports that the service sent the bytes, although `delivery` may expect a redirect. */
const reportServed = ({ storageAdapter, settings }: SourceConfig, findings: Findings): void => {
  if (settings.delivery !== 'redirect' || !['azure', 'gcs'].includes(storageAdapter))
    return findings.ok('serve', 'the service serves the files');
  findings.risk(
    'serve',
    'the service sends the files itself: its credentials cannot sign URLs',
    `Give it credentials that can sign, or set "delivery": "stream" (docs/${storageAdapter}.md).`,
  );
};
