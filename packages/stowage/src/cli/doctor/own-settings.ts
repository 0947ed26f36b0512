import type { ServiceDefinition } from '../../app.ts';
import { createConnector, type Connector } from '../../connector.ts';
import { isPlainObject, without, type PlainObject } from '../../config/plain-values.ts';
import type { ConfigInput, SourceConfig } from '../../config/types.ts';
import { toFetchHandler, type FetchHandler } from '../../http/bridges/fetch.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { Findings } from './finding.ts';
import { createProbe } from './store-probe.ts';

/**
 * Settings about who may do something, which the doctor asks elsewhere, and those that would count, keep or
 * draw something while it looks.
 */
const LEFT_OUT = [
  ...['accessControl', 'auth', 'onlyPOST', 'refuseCrossSite', 'rateLimits'],
  ...['createThumb', 'quota', 'trash', 'uploadImages'],
];

const lookingAt = (settings: PlainObject): PlainObject => ({
  ...without(settings, LEFT_OUT),
  createThumb: false,
});

/** The service as configured, for a user who may do everything and leaves no traces. */
export const createUnguarded = ({ config }: ServiceDefinition, logger: Logger): Connector => {
  const written = (config ?? {}) as PlainObject;
  const sources = isPlainObject(written['sources'])
    ? Object.entries(written['sources']).map(([key, source]) => [
        key,
        isPlainObject(source) ? lookingAt(source) : source,
      ])
    : undefined;
  const looked: ConfigInput = {
    ...lookingAt(written),
    ...(sources === undefined ? {} : { sources: Object.fromEntries(sources) as ConfigInput['sources'] }),
  };
  return createConnector(looked, {}, { logger, onlyLooks: true });
};

interface Answer {
  readonly success: boolean;
  readonly data: {
    readonly error?: string;
    readonly messages?: readonly string[];
    readonly files?: readonly string[];
    readonly sources?: readonly { readonly files: readonly { readonly name: string }[] }[];
  };
}

const ask = async (fetch: FetchHandler, path: string, body?: FormData): Promise<Answer> => {
  const request = new Request(new URL(path, 'http://doctor.invalid/'), body && { method: 'POST', body });
  return (await (await fetch(request)).json()) as Answer;
};

const FIXES: Readonly<Record<string, string>> = {
  FILE_TOO_LARGE: 'Write maxUploadFileSize with a unit: "20mb".',
  TYPE_NOT_ALLOWED: 'List what may be uploaded: "extensions": ["jpg", "png", "pdf"].',
};

/** Types whose content is checked, which a probe would not pass. */
const CHECKED_TYPES = /\.(?:svg|xml)$/u;

/** Uploads a file as users do, looks for it in the listing, and removes it. */
export const checkOwnSettings = async (
  connector: Connector,
  config: SourceConfig,
  findings: Findings,
): Promise<void> => {
  const { name, content } = createProbe(config);
  if (CHECKED_TYPES.test(name)) return;
  const fetch = toFetchHandler(connector.handle);
  const source = `source=${encodeURIComponent(config.name)}`;
  const form = new FormData();
  form.set('files[0]', new Blob([content]), name);
  const { success, data } = await ask(fetch, `fileUpload?${source}`, form);
  const stored = data.files?.[0];
  if (!success || stored === undefined)
    return findings.broken(
      'settings.upload',
      `the service refuses an upload: ${data.messages?.[0] ?? ''}`,
      FIXES[data.error ?? ''] ?? 'Look at the settings of the source (docs/configuration.md).',
    );
  const listed = await ask(fetch, `files?${source}&mods[filterWord]=${encodeURIComponent(stored)}`);
  const isListed = listed.data.sources?.some(({ files }) => files.some((file) => file.name === stored));
  if (isListed !== true)
    findings.broken(
      'settings.list',
      'the service does not show a file that was just uploaded',
      'Look at extensions, countInChunk and excludeDirectoryNames.',
    );
  const removed = await ask(fetch, `fileRemove?${source}&name=${encodeURIComponent(stored)}`);
  if (!removed.success) findings.leftBehind(stored);
  else if (isListed === true) findings.ok('settings.upload', 'the service takes uploads and shows them');
};
