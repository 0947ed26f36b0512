import * as z from 'zod';
import * as option from '../../support/option-fields.ts';

const httpUrl = option.text
  .refine(
    (text) => URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol),
    'must be an http:// or https:// URL',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username === '',
    'must not hold a login: use username and password',
  )
  .transform((text): string => {
    const url = new URL(text);
    url.search = '';
    url.hash = '';
    if (!url.pathname.endsWith('/')) url.pathname += '/';
    return url.href;
  });

/** Headers that requests set themselves, and `Authorization`, which the login sets. */
const OWN_HEADERS =
  /^(?:authorization|connection|content-.*|depth|destination|expect|host|if.*|overwrite|range|te|trailer|transfer-encoding|upgrade)$/iu;

const headersOption = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~\w-]+$/u, 'must be names of headers')
    .refine((name) => !OWN_HEADERS.test(name), 'must not hold headers that the adapter sets itself'),
  z.string('must be texts').regex(/^[\t\u0020-\u007e]*$/u, 'must be texts of printable ASCII characters'),
  'must be an object of texts',
);

/** Options of the webdav adapter, under `sources.<name>.webdav`. */
export const webdavOptionsSchema = z
  .strictObject(
    {
      url: httpUrl.describe('http:// or https:// URL of the collection that is the root of the source.'),
      username: option.filled.optional().describe('Login.'),
      password: option.text.optional().describe('Password.'),
      token: option.filled
        .optional()
        .describe('Sent as `Authorization: Bearer <token>`; not together with username.'),
      auth: z
        .enum(['basic', 'digest'], 'must be "basic" or "digest"')
        .default('basic')
        .describe('Scheme for username and password.'),
      verifyCertificate: option.flag
        .default(true)
        .describe('Check the certificate of the server, with the authorities of `ca`.'),
      ca: option.authorities,
      timeout: option.seconds(86_400).default(30).describe('Seconds to wait for the server.'),
      connections: option
        .count(1, 64)
        .default(8)
        .describe('Maximum number of open HTTP connections, 1 to 64.'),
      headers: headersOption
        .default({})
        .describe('Headers for every request to the server of `url`, such as those of an access proxy.'),
      caseSensitive: option.flag
        .optional()
        .describe('Whether the server distinguishes `a` and `A`. Default: detected by a request.'),
      reserveNames: option.flag
        .default(true)
        .describe(
          'Reserve each new name by a hidden folder, so that several instances never use the same name. ' +
            'Costs two requests.',
        ),
    },
    'must be an object',
  )
  .refine(({ token, username }) => token === undefined || username === undefined, {
    path: ['token'],
    message: 'must not be used together with username',
  })
  .refine(({ password, username }) => password === undefined || username !== undefined, {
    path: ['username'],
    message: 'is required with password',
  });

export type WebdavOptions = z.output<typeof webdavOptionsSchema>;

export const parseWebdavOptions = option.parser(webdavOptionsSchema);
