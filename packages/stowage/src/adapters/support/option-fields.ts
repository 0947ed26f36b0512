import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import * as z from 'zod';
import { orUndefined } from '../../errors/errors.ts';

export const text = z.string({
  error: ({ input }) => (input === undefined ? 'is required' : 'must be text'),
});

export const filled = text.min(1, 'must not be empty');

/** A file of this machine. Made absolute: the process may change its directory later. */
export const file = filled.overwrite((path) => resolve(path));

/** `Cache-Control` header that every file is stored with. */
export const cacheControl = filled
  .regex(/^[\t\u0020-\u007e]+$/u, 'must be the value of a header, in ASCII')
  .optional();

export const prefix = text
  .refine(
    (value) => !value.split('/').some((part) => part === '.' || part === '..'),
    'must not hold . or .. as a part',
  )
  .refine((value) => !value.includes('//'), 'must not hold //: no path of a source names such a key')
  .default('');

export const flag = z.boolean('must be true or false');

/** A time of more than zero seconds, up to a maximum. */
export const seconds = (most: number) =>
  z
    .number('must be a number of seconds')
    .positive('must be more than 0 seconds')
    .max(most, `must be at most ${String(most)} seconds`);

export const count = (least: number, most: number) =>
  z
    .int('must be a whole number')
    .min(least, `must be at least ${String(least)}`)
    .max(most, `must be at most ${String(most)}`);

export const attempts = count(1, 10)
  .default(3)
  .describe('Number of attempts for each request, including the first, with increasing pauses between them.');

/** Longest silence of a store. */
export const silence = seconds(3600)
  .default(60)
  .describe(
    'Seconds without data, after which a request has failed. If the reader of a download pauses for ' +
      'longer, the download continues with another request.',
  );

/** Whether a text is the http or https URL of a service, without a query or a login. */
export const isServiceUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/u.test(url.protocol) && url.search === '' && url.username === '';
};

/** Host of a server, without its port. */
export const host = text
  .refine((text) => /^[^\s/@\u0000-\u001f]+$/u.test(text), 'must be the name or address of a host')
  .describe('Name or address.');

/** Options for kept connections to a server. `idle`: default in seconds. */
export const connection = (idle: number) => ({
  timeout: seconds(3600)
    .default(30)
    .describe('Seconds without a response, after which a connection counts as lost.'),
  connections: count(1, 64).default(4).describe('Maximum number of connections.'),
  idleTimeout: seconds(86_400).default(idle).describe('Seconds after which an unused connection is closed.'),
});

const certificatesIn = (text: string): readonly string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu) ?? [];

const areCertificates = (text: string): boolean => {
  const found = certificatesIn(text);
  const isReadable = (one: string): boolean => orUndefined(() => new X509Certificate(one)) !== undefined;
  return found.length > 0 && found.every(isReadable);
};

/** Certificates of the trusted authorities for a server. */
export const authorities = text
  .refine(areCertificates, 'must be certificates in PEM')
  // OpenSSL ignores certificates that do not start on a line of their own.
  .transform((text) => certificatesIn(text).join('\n'))
  .optional()
  .describe(
    'Certificates (PEM) of the certificate authorities that are trusted for this server, instead of ' +
      'the list of Node.js and NODE_EXTRA_CA_CERTS.',
  );

const problemsOfIssue = (issue: z.core.$ZodIssue): readonly string[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => `${[...issue.path, key].join('.')}: is not a known key`)
    : [`${issue.path.join('.')}: ${issue.message}`];

/**
 * Creates `parseOptions` of a factory, for options without nulls, from a schema and from further checks:
 * `check` returns the problems of options that fit the schema. Every problem begins with its dotted key.
 */
export const parser =
  <Schema extends z.ZodType>(
    schema: Schema,
    check: (options: z.output<Schema>) => readonly string[] = () => [],
  ) =>
  (options: unknown): { readonly value: z.output<Schema> } | { readonly problems: readonly string[] } => {
    const { data, error } = schema.safeParse(options);
    if (error !== undefined) return { problems: error.issues.flatMap(problemsOfIssue) };
    const problems = check(data);
    return problems.length > 0 ? { problems } : { value: data };
  };
