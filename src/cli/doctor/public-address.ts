import { TimeLimit } from '../../concurrency/time-limit.ts';
import type { App } from '../../app.ts';
import type { SourceConfig } from '../../config/types.ts';
import { reasonOf, type Findings } from './finding.ts';
import type { Probe } from './store-probe.ts';

/** What the doctor was told of the addresses around the service. */
export interface Addresses {
  /** Where the service runs, as browsers see it; with a slash at the end. */
  readonly service?: URL | undefined;
  /** Where the page with the editor comes from: `https://www.example.com`. */
  readonly page?: string | undefined;
}

const REQUEST_MS = 10_000;

/** A request that cannot hang. Redirects are answers: a login page in place of a file must show. */
export const ask = (url: URL | string, signal: AbortSignal, init: RequestInit = {}): Promise<Response> =>
  fetch(url, {
    redirect: 'manual',
    ...init,
    // It also ends the reading of the answer.
    signal: new TimeLimit(REQUEST_MS, signal).signal,
  });

/** Where the files of a source are for browsers; undefined: only a path, and nobody said of which host. */
const linkOf = ({ baseurl }: SourceConfig, probe: Probe, { service, page }: Addresses): URL | undefined => {
  if (baseurl === undefined) return undefined;
  const base = baseurl.startsWith('/') ? (page ?? service?.origin) : undefined;
  if (baseurl.startsWith('/') && base === undefined) return undefined;
  return new URL(`${baseurl}${probe.name}`, base);
};

const START = 500;

/** The first bytes of an answer; the rest is not read. */
const beginningOf = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  // What `fetch` gives in Node can be iterated; leaving the loop drops the rest.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= START) break;
  }
  return text.slice(0, START);
};

const fixOfStatus = (status: number, { key, storageAdapter }: SourceConfig): string => {
  if (status === 401 || status === 403)
    return ['s3', 'azure', 'gcs'].includes(storageAdapter)
      ? `Let the service serve the files: remove sources.${key}.baseurl and set "serve": "public" (docs/serving.md).`
      : 'Let the web server read the folder: its user needs the right to enter it and all folders above.';
  if (status === 404)
    return (
      'Point the web server to the root of the source (nginx: alias, with slashes at both ends), or correct ' +
      `sources.${key}.baseurl.`
    );
  if (status >= 300 && status < 400)
    return `Write the address after the redirect into sources.${key}.baseurl, without a login before it.`;
  return `Look into the log of the web server behind sources.${key}.baseurl.`;
};

const checkAnswer = async (
  response: Response,
  { url, probe, config }: { readonly url: URL; readonly probe: Probe; readonly config: SourceConfig },
  findings: Findings,
): Promise<void> => {
  const text = await beginningOf(response);
  const isRefusal = response.status === 401 || response.status === 403;
  if (isRefusal && config.settings.serve === 'protected')
    return findings.ok('baseurl', `${config.baseurl ?? ''} refuses strangers`);
  const at = `${url.origin}${url.pathname}`;
  if (response.status !== 200)
    return findings.broken(
      'baseurl',
      `${at} answers ${String(response.status)} for a file that is there`,
      fixOfStatus(response.status, config),
    );
  if (text !== probe.content)
    return findings.broken(
      'baseurl',
      `${at} answers with something else than the file`,
      /^\s*</u.test(text)
        ? `A page answers there: correct sources.${config.key}.baseurl, or serve the files before the routes of ` +
            'the page.'
        : `Correct sources.${config.key}.baseurl: it leads to other files.`,
    );
  findings.ok('baseurl', `browsers can read files at ${config.baseurl ?? at}`);
  if (response.headers.get('x-content-type-options') !== 'nosniff')
    findings.risk(
      'baseurl.nosniff',
      'files come without X-Content-Type-Options: uploads may run as scripts',
      'nginx: add_header X-Content-Type-Options nosniff always;',
    );
};

const checkPage = (url: URL, response: Response, page: string, findings: Findings): void => {
  if (page.startsWith('https:') && url.protocol === 'http:')
    findings.broken(
      'baseurl.mixed',
      `browsers do not load ${url.origin} in a page of ${page}: it is not https`,
      'Serve the files over https, and write https into baseurl.',
    );
  const allowed = response.headers.get('access-control-allow-origin');
  if (url.origin === page || allowed === '*' || allowed === page) return;
  findings.risk(
    'baseurl.cors',
    `pages of ${page} can show the files but not read them (canvas, fetch)`,
    `nginx: add_header Access-Control-Allow-Origin ${page} always; (a bucket: its CORS rules)`,
  );
};

/** Reads the probe where browsers will look for it. */
export const checkBaseurl = async (
  config: SourceConfig,
  {
    app,
    probe,
    addresses,
  }: { readonly app: Pick<App, 'fetch' | 'urlFor'>; readonly probe: Probe; readonly addresses: Addresses },
  { findings, signal }: { readonly findings: Findings; readonly signal: AbortSignal },
): Promise<void> => {
  const url = linkOf(config, probe, addresses);
  if (url === undefined)
    return findings.risk(
      'baseurl',
      `whether ${config.baseurl ?? ''} leads to the files is not known: it is a path`,
      'Run again with --page-origin https://the-site-of-the-pages',
    );
  url.search = signatureOf(app, config.name, probe);
  const { page } = addresses;
  try {
    const response = await ask(url, signal, page === undefined ? {} : { headers: { origin: page } });
    await checkAnswer(response, { url, probe, config }, findings);
    if (page !== undefined) checkPage(url, response, page, findings);
  } catch (error) {
    signal.throwIfAborted();
    findings.broken(
      'baseurl',
      `${url.origin} does not answer: ${reasonOf(error)}`,
      `Start the web server behind sources.${config.key}.baseurl, or correct it.`,
    );
  }
};

/** What stands after a link of a source whose links are signed. */
const signatureOf = (app: Pick<App, 'fetch' | 'urlFor'>, name: string, probe: Probe): string =>
  new URL(app.urlFor(name, probe.name), 'http://doctor.invalid/').search;

/** The bytes came from the service, which may not be what was asked for. */
const reportServed = (storageAdapter: string, delivery: string, findings: Findings): void => {
  if (delivery !== 'redirect' || !['azure', 'gcs'].includes(storageAdapter))
    return findings.ok('serve', 'the service serves the files');
  findings.risk(
    'serve',
    'the service sends the files itself: its credentials cannot sign URLs',
    `Give it credentials that can sign, or set "delivery": "stream" (docs/${storageAdapter}.md).`,
  );
};

/** Whether strangers get a file that the service serves, as its settings promise. */
export const checkServing = async (
  app: Pick<App, 'fetch' | 'urlFor'>,
  { name, storageAdapter, settings: { serve, delivery } }: SourceConfig,
  probe: Probe,
  { findings, signal }: { readonly findings: Findings; readonly signal: AbortSignal },
): Promise<void> => {
  const url = new URL(`/file/${encodeURIComponent(name)}/${probe.name}`, 'http://doctor.invalid/');
  url.search = signatureOf(app, name, probe);
  const response = await app.fetch(new Request(url, { signal }));
  const { status, headers } = response;
  if (serve === 'protected' && (status === 401 || status === 403)) {
    await response.body?.cancel();
    return findings.ok('serve', 'the service serves the files, and refuses strangers');
  }
  if (status === 302 && delivery === 'redirect') return checkRedirect(headers, probe, { findings, signal });
  if (status === 200 && delivery.startsWith('x-'))
    return findings.ok('serve', `the web server is asked to send the files (${delivery})`);
  if (status === 200 && (await beginningOf(response)) === probe.content)
    return reportServed(storageAdapter, delivery, findings);
  await response.body?.cancel().catch(() => undefined);
  findings.broken(
    'serve',
    `the service answers ${String(status)} for a file that is there`,
    delivery === 'redirect' && status === 501
      ? 'npm install @aws-sdk/s3-request-presigner'
      : 'Look at the access rules: stowage explain ROLE fileDownload /',
  );
};

const checkRedirect = async (
  headers: Headers,
  probe: Probe,
  { findings, signal }: { readonly findings: Findings; readonly signal: AbortSignal },
): Promise<void> => {
  const location = headers.get('location') ?? '';
  try {
    const response = await ask(location, signal);
    const isSame = (await beginningOf(response)) === probe.content;
    if (isSame) return findings.ok('serve', 'the service redirects to the bucket, which answers');
    findings.broken(
      'serve',
      `the redirect to the bucket answers ${String(response.status)}`,
      'Allow the key to read the objects, or set "delivery": "stream".',
    );
  } catch (error) {
    signal.throwIfAborted();
    findings.broken(
      'serve',
      `the redirect to the bucket does not answer: ${reasonOf(error)}`,
      'Set "delivery": "stream": browsers may not reach the endpoint either.',
    );
  }
};
