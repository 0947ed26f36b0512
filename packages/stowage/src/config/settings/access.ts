import { createPublicKey, type KeyObject } from 'node:crypto';
import * as z from 'zod';
import { orUndefined } from '../../errors/errors.ts';
import { accessRuleSchema } from '../access-rules.ts';
import { global, isWebAddress, network, origin, positive, setting, unused } from './values.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/u;

const rsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;
const curves = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;
const shared = ['HS256', 'HS384', 'HS512'] as const;
const algorithms = [...rsa, ...curves, ...shared] as const;

/** Signature algorithms of tokens, without `none`. */
export type TokenAlgorithm = (typeof algorithms)[number];

/** The public key in a text; undefined without one, and for a private key, which the parser would accept. */
const publicKeyIn = (text: string): KeyObject | undefined =>
  text.includes('PRIVATE KEY') ? undefined : orUndefined(() => createPublicKey(text));

const algorithmsOfCurve: Readonly<Record<string, readonly TokenAlgorithm[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
};

/** Algorithms that a public key can verify; empty for unsuitable keys, and for RSA keys under 2048 bits. */
const algorithmsOfKey = (text: string): readonly TokenAlgorithm[] => {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKeyIn(text) ?? {};
  if (type === 'rsa') return (details?.modulusLength ?? 0) < 2048 ? [] : rsa;
  if (type === 'ed25519') return ['EdDSA', 'Ed25519'];
  return algorithmsOfCurve[details?.namedCurve ?? ''] ?? [];
};

/** Algorithms that a key can verify: a public key is never a shared secret, whatever a token says. */
export const possibleAlgorithms = ({
  publicKey,
  secret,
}: Pick<TokenSettings, 'publicKey' | 'secret'>): readonly TokenAlgorithm[] => {
  if (secret !== undefined) return shared;
  return publicKey === undefined ? [...rsa, ...curves] : algorithmsOfKey(publicKey);
};

const texts = z.union([z.string(), z.array(z.string()).min(1)], 'must be text or a list of texts');

// Problems of keys never contain the value.
const jwtShape = z.strictObject({
  jwksUrl: z
    .string()
    .refine((text) => isWebAddress(text) && new URL(text).username === '', 'must be an http or https URL')
    .optional()
    .describe('Address of the keys that the login service publishes (a JSON Web Key Set).'),
  publicKey: z
    .string()
    .refine(
      (text) => algorithmsOfKey(text).length > 0,
      'must not be anything but a public key or a certificate in PEM: RSA from 2048 bits, P-256, P-384, P-521 or ' +
        'Ed25519',
    )
    .optional()
    .describe('The key itself, in PEM: a public key or a certificate.'),
  secret: z
    .string()
    .refine((text) => Buffer.byteLength(text) >= 32, 'must not be shorter than 32 bytes')
    .optional()
    .describe('The secret that the login service signs with (HS256, HS384, HS512).'),
  issuer: texts.optional().describe('Accepted issuers of the token (`iss`).'),
  audience: texts.optional().describe('Accepted audiences of the token (`aud`).'),
  algorithms: z
    .array(z.enum(algorithms))
    .min(1)
    .optional()
    .describe('Accepted signature algorithms of tokens. Default: all that the key can verify.'),
  roleClaim: z
    .string()
    .min(1)
    .default('role')
    .describe('The claim with the role. Dots lead into objects: `realm_access.roles`.'),
  roles: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('For claims with several roles: the first of these that the token has is the role.'),
  subjectClaim: z.string().min(1).default('sub').describe('The claim that names the user in the log.'),
  cookie: z
    .string()
    .regex(HEADER_NAME, 'must be the name of a cookie')
    .optional()
    .describe('Cookie with the token, for requests without `Authorization: Bearer`.'),
  optional: z
    .boolean()
    .default(false)
    .describe('Accept requests without a token, with `defaultRole`. An invalid token returns 401.'),
});

const jwtSchema = jwtShape.superRefine(({ jwksUrl, publicKey, secret, algorithms: wanted }, context) => {
  const add = (path: string[], message: string): void =>
    context.addIssue({ code: 'custom', path, message, input: undefined });
  const keys = [jwksUrl, publicKey, secret].filter((key) => key !== undefined);
  if (keys.length === 0) return add(['jwksUrl'], 'is required unless publicKey or secret is set');
  if (keys.length > 1) return add([], 'must not have more than one of jwksUrl, publicKey and secret');
  const possible = possibleAlgorithms({ publicKey, secret });
  const impossible = (wanted ?? []).filter((one) => !possible.includes(one));
  if (impossible.length > 0)
    add(['algorithms'], `must not list what this key cannot verify: ${impossible.join(', ')}`);
});

/** Configuration of tokens from a login service. */
export type TokenSettings = Readonly<z.output<typeof jwtShape>>;

/** Authentication without a hook: by a proxy or by tokens. */
export const authSchema = z
  .strictObject({
    header: z
      .string()
      .regex(HEADER_NAME, 'must be the name of a header')
      .optional()
      .describe(
        'Header with the role. The proxy must set or remove it in every request, so that clients cannot.',
      ),
    from: z
      .array(network)
      .min(1, 'must not be empty')
      .optional()
      .describe(
        'Addresses of the trusted proxies, `unix` for a Unix socket; requests from other addresses get 401.',
      ),
    jwt: jwtSchema
      .optional()
      .describe('Take the role from a signed token (JWT). Needs the npm package `jose`.'),
  })
  .superRefine(({ header, from, jwt }, context) => {
    const add = (path: string[], message: string): void =>
      context.addIssue({ code: 'custom', path, message, input: undefined });
    if (jwt !== undefined) {
      if (header !== undefined || from !== undefined) add(['jwt'], 'must not be set together with header');
      return;
    }
    if (header === undefined) add(['header'], 'is required unless jwt is set');
    if (from === undefined) add(['from'], 'is required with header');
  });

const rateSchema = z.strictObject({
  requests: positive.max(1_000_000),
  seconds: positive.max(86_400),
});

const rate = (what: string): z.ZodOptional<typeof rateSchema> =>
  rateSchema
    .optional()
    .describe(`Maximum number of ${what} in a period: \`{ "requests": 60, "seconds": 60 }\`.`);

const rateLimitsSchema = z.strictObject({
  uploads: rate('uploads from forms, of edited pictures and of remote files'),
  pictures: rate('edits and variants of pictures'),
  documents: rate('PDF and DOCX files'),
  listings: rate('listings and searches'),
});

export const accessSettings = {
  accessControl: setting(
    z.array(accessRuleSchema).default([]),
    global('Access rules. Of the rules that apply and name the action, the last one counts.'),
  ),
  defaultRole: setting(
    z.string().min(1).default('guest'),
    global('Role of every request without a `checkAuthentication` hook.'),
  ),
  auth: setting(
    authSchema.optional(),
    global(
      'Take the role of a request from a header of a trusted proxy (`header` and `from`), or from a ' +
        'signed token (`jwt`), instead of `defaultRole`. Requests without it, or from other addresses, get ' +
        '401.',
    ),
  ),
  rateLimits: setting(
    rateLimitsSchema.optional(),
    global(
      'Limits for expensive requests of one client. A client is the subject that checkAuthentication ' +
        'returns, else the client address. More requests get 429 with `Retry-After`. Needs the package ' +
        '"rate-limiter-flexible".',
    ),
  ),
  trustedProxies: setting(
    z.array(network).default([]),
    global(
      'Proxies whose `X-Forwarded-For` names the client address, for `rateLimits` and `tus`; `unix` for a ' +
        'Unix socket. Default: the address of the connection.',
    ),
  ),
  roleSessionVar: setting(z.string().default('JoditUserRole'), unused('roles come from the hook.')),
  allowCrossOrigin: setting(
    z.boolean().default(false),
    global('Send CORS headers for cross-origin requests.'),
  ),
  allowedOrigins: setting(
    z.array(origin).nullable().default(null),
    global('Accepted origins if `allowCrossOrigin` is on; null accepts all, an empty list none.'),
  ),
  onlyPOST: setting(z.boolean().default(false), global('Reject every GET with 405, /ping included.')),
  refuseCrossSite: setting(
    z.boolean().default(false),
    global(
      'Reject requests from pages of other origins (403), according to Sec-Fetch-Site, Origin or ' +
        'Referer, unless cross-origin settings accept them; also changes by GET without such a header.',
    ),
  ),
} as const;
