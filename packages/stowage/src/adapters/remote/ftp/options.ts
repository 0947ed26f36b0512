import * as z from 'zod';
import {
  authoritiesOption,
  connectionOptions,
  countOption,
  filledOption,
  flagOption,
  hostOption,
  optionsParser,
  textOption,
} from '../../support/option-fields.ts';

/** Line breaks or NUL would start another command. */
const isOneLine = (text: string): boolean => !/[\r\n\0]/u.test(text);
const ONE_LINE = 'must not hold line breaks or NUL characters';

/** Options of the ftp adapter, under `sources.<name>.ftp`. */
export const ftpOptionsSchema = z
  .strictObject(
    {
      host: hostOption,
      port: countOption(1, 65_535).default(21).describe('Port.'),
      username: filledOption.refine(isOneLine, ONE_LINE).describe('Login.'),
      password: textOption.refine(isOneLine, ONE_LINE).describe('Password.'),
      directory: textOption
        .refine(isOneLine, ONE_LINE)
        .default('')
        .describe('Folder of the server for the source; it must exist. Default: the folder of the login.'),
      tls: flagOption
        .default(false)
        .describe(
          'Encrypt commands and files with TLS (explicit FTPS). A server that does not offer it is rejected.',
        ),
      verifyCertificate: flagOption
        .default(true)
        .describe('With `tls`: check the certificate of the server, with the authorities of `ca`.'),
      ca: authoritiesOption,
      ...connectionOptions(60),
    },
    'must be an object',
  )
  .refine(({ ca, tls }) => ca === undefined || tls, { path: ['ca'], message: 'is for tls' });

export type FtpOptions = z.output<typeof ftpOptionsSchema>;

/** Validates options of a configuration; every problem begins with its dotted key. */
export const parseFtpOptions = optionsParser(ftpOptionsSchema);
