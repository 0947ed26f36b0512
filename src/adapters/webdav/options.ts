import { z } from 'zod';
import {
  countOption,
  filledOption,
  flagOption,
  problemsOfOptions,
  secondsOption,
  textOption,
} from '../../storage/option-fields.ts';

const httpUrl = textOption
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

/** Options of the webdav adapter, under `sources.<name>.webdav`. */
export const webdavOptionsSchema = z
  .strictObject(
    {
      url: httpUrl.describe('http:// or https:// URL of the collection that is the root of the source.'),
      username: filledOption.optional().describe('Login.'),
      password: textOption.optional().describe('Password.'),
      token: filledOption
        .optional()
        .describe('Sent as `Authorization: Bearer <token>`; not together with username.'),
      auth: z
        .enum(['basic', 'digest'], 'must be "basic" or "digest"')
        .default('basic')
        .describe('How username and password are sent.'),
      verifyCertificate: flagOption
        .default(true)
        .describe('Check the certificate of the server with the CAs of the system.'),
      timeout: secondsOption(86_400).default(30).describe('Seconds to wait for the server.'),
      connections: countOption(1, 64).default(8).describe('Most open HTTP connections, 1 to 64.'),
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

/** Options after their check. */
export type WebdavOptions = z.output<typeof webdavOptionsSchema>;

/** Checks options as written in a configuration; every problem begins with its dotted key. */
export const parseWebdavOptions = (
  options: unknown,
): { readonly value: WebdavOptions } | { readonly problems: readonly string[] } => {
  const outcome = webdavOptionsSchema.safeParse(options);
  if (outcome.success) return { value: outcome.data };
  return { problems: problemsOfOptions(outcome.error) };
};
