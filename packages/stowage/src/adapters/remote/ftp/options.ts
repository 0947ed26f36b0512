import * as z from 'zod';
import * as option from '../../support/option-fields.ts';

/** Line breaks or NUL would start another command. */
const isOneLine = (text: string): boolean => !/[\r\n\0]/u.test(text);
const ONE_LINE = 'must not hold line breaks or NUL characters';

/** Options of the ftp adapter, under `sources.<name>.ftp`. */
export const ftpOptionsSchema = z
  .strictObject(
    {
      host: option.host,
      port: option.count(1, 65_535).default(21).describe('Port.'),
      username: option.filled.refine(isOneLine, ONE_LINE).describe('Login.'),
      password: option.text.refine(isOneLine, ONE_LINE).describe('Password.'),
      directory: option.text
        .refine(isOneLine, ONE_LINE)
        .default('')
        .describe('Folder of the server for the source; it must exist. Default: the folder of the login.'),
      tls: option.flag
        .default(false)
        .describe(
          'Encrypt commands and files with TLS (explicit FTPS). A server that does not offer it is rejected.',
        ),
      verifyCertificate: option.flag
        .default(true)
        .describe('With `tls`: check the certificate of the server, with the authorities of `ca`.'),
      ca: option.authorities,
      ...option.connection(60),
    },
    'must be an object',
  )
  .refine(({ ca, tls }) => ca === undefined || tls, { path: ['ca'], message: 'is for tls' });

export type FtpOptions = z.output<typeof ftpOptionsSchema>;

export const parseFtpOptions = option.parser(ftpOptionsSchema);
