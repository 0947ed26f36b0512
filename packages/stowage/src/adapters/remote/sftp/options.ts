import * as z from 'zod';
import * as option from '../../support/option-fields.ts';
import { parseHostKeys } from './login.ts';

const isPrivateKey = (text: string): boolean =>
  /^\s*(?:-----BEGIN [A-Z ]*PRIVATE KEY-----|PuTTY-User-Key-File-\d)/u.test(text);

const hostKeyText = option.text.refine(
  (text) => parseHostKeys(text).length > 0,
  'must be a public key (ssh-ed25519 AAAA...) or a fingerprint (SHA256:...)',
);

/** Requires exactly one of these keys. */
const exactlyOne = (options: Readonly<Record<string, unknown>>, keys: readonly [string, ...string[]]) => {
  const [first, ...others] = keys.filter((key) => options[key] !== undefined);
  if (first === undefined)
    return [{ path: keys[0], message: `is required, or ${keys.slice(1).join(' or ')}` }];
  return others.map((path) => ({ path, message: `must not be used together with ${first}` }));
};

/** Options of the sftp adapter, under `sources.<name>.sftp`. */
export const sftpOptionsSchema = z
  .strictObject(
    {
      host: option.host,
      port: option.count(1, 65_535).default(22).describe('Port.'),
      username: option.filled.describe('Login.'),
      password: option.filled.optional().describe('Password.'),
      privateKey: option.filled
        .refine(isPrivateKey, 'must be a private key (-----BEGIN ... or PuTTY-User-Key-File-...)')
        .optional()
        .describe('Private key of the login: OpenSSH, PEM or PPK.'),
      privateKeyFile: option.file.optional().describe('File with the private key, read at each connection.'),
      passphrase: option.filled.optional().describe('Passphrase of an encrypted private key.'),
      hostKey: z
        .union(
          [hostKeyText, z.array(hostKeyText).min(1, 'must not be empty')],
          'must be a public key (ssh-ed25519 AAAA...), a fingerprint (SHA256:...), or a list of such texts',
        )
        .optional()
        .describe(
          'Public key of the server (`ssh-ed25519 AAAA...`, as `ssh-keyscan` prints it) or its fingerprint ' +
            '(`SHA256:...`), or a list of several. Any other key is rejected.',
        ),
      knownHostsFile: option.file
        .optional()
        .describe(
          'File in the format of `~/.ssh/known_hosts`, also with hashed names; read at each connection.',
        ),
      directory: option.text
        .refine((text) => !text.includes('\0'), 'must not hold a NUL character')
        .default('')
        .describe('Folder of the server for the source; it must exist. Default: the folder of the login.'),
      ...option.connection(300),
    },
    'must be an object',
  )
  .superRefine((options, context) => {
    const add = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    for (const { path, message } of [
      ...exactlyOne(options, ['password', 'privateKey', 'privateKeyFile']),
      ...exactlyOne(options, ['hostKey', 'knownHostsFile']),
    ])
      add(path, message);
    if (options.passphrase !== undefined && options.password !== undefined)
      add('passphrase', 'is for a private key');
  });

export type SftpOptions = z.output<typeof sftpOptionsSchema>;

export const parseSftpOptions = option.parser(sftpOptionsSchema);
