import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createApp, HttpError, readOnly, type ConnectorHooks } from 'stowage';

// The addresses of your identity provider.
const issuer = process.env['ISSUER'] ?? 'https://login.example.com';
const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));

const hooks: ConnectorHooks = {
  checkAuthentication: async ({ headers }) => {
    const [scheme, token = ''] = (headers['authorization'] ?? '').split(' ');
    if (scheme !== 'Bearer') throw new HttpError(401, 'Please log in.');
    try {
      const options = { issuer, audience: 'files', algorithms: ['RS256', 'ES256'], requiredClaims: ['exp'] };
      const { payload } = await jwtVerify(token, keys, options);
      const role = payload['role'] === 'editor' ? 'editor' : 'reader';
      return { role, subject: payload.sub };
    } catch {
      throw new HttpError(401, 'Please log in again.');
    }
  },
};

const app = createApp(
  {
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
    // The page is on another origin, and sends its token in a header.
    allowCrossOrigin: true,
    allowedOrigins: ['https://www.example.com'],
    accessControl: [...readOnly, { role: 'editor', CHANGE: true }],
  },
  hooks,
);
void app.listen(Number(process.env['PORT'] ?? 8081), '127.0.0.1');
