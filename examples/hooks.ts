import { createApp, HttpError, readOnly, type ConnectorHooks } from 'stowage';

const users = new Map([['key-of-ann', { id: 'ann', role: 'editor' }]]);

const hooks: ConnectorHooks = {
  // Returns the role for the access rules. Called for every request.
  checkAuthentication: async (request) => {
    const user = users.get(request.headers['x-api-key'] ?? '');
    if (user === undefined) throw new HttpError(401, 'Unknown key.');
    return user.role;
  },

  // Returns the sources of the request's tenant, cached for a minute by id. Null: the configured sources.
  resolveSources: (request) => {
    const user = users.get(request.headers['x-api-key'] ?? '');
    if (user === undefined) return null;
    return {
      id: user.id,
      sources: {
        own: {
          title: 'My files',
          root: `tenants/${user.id}`,
          baseurl: `https://files.example.com/${user.id}/`,
        },
      },
    };
  },

  // Rules computed in code; they replace the configured ones.
  accessControl: (request) => (request.headers['x-read-only'] === '1' ? readOnly : []),

  // Checks origins, instead of the setting allowedOrigins.
  allowedOrigins: (origin) => origin.endsWith('.example.com'),
};

const app = createApp({ sources: {}, allowCrossOrigin: true }, hooks);
await app.listen(8081);
