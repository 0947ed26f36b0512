import { randomUUID } from 'node:crypto';
import express from 'express';
import { createRouter, HttpError, readOnly, type ConnectorHooks } from 'stowage';

interface User {
  readonly id: string;
  readonly role: 'editor' | 'reader';
}

/** The request after the login of the application: Passport and others set `user` like this. */
type RequestWithUser = express.Request & { user?: User | undefined };

const hooks: ConnectorHooks<RequestWithUser> = {
  checkAuthentication: ({ native: { user } }) => {
    if (user === undefined) throw new HttpError(401, 'Please log in.');
    return { role: user.role, subject: user.id };
  },
};

const router = createRouter(
  {
    onlyPOST: true,
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'protected' } },
    accessControl: [...readOnly, { role: 'editor', CHANGE: true }],
  },
  hooks,
);

// Replace these with the sessions of your application.
const sessions = new Map<string, User>();
const app = express();
app.use((request: RequestWithUser, _response, next) => {
  const [, id = ''] = /(?:^|; )session=([\w-]+)/u.exec(request.headers.cookie ?? '') ?? [];
  request.user = sessions.get(id);
  next();
});
app.post('/login/:name', (request, response) => {
  const { name } = request.params;
  const id = randomUUID();
  sessions.set(id, { id: name, role: name === 'ann' ? 'editor' : 'reader' });
  response.cookie('session', id, { httpOnly: true, sameSite: 'lax' }).end();
});
app.use('/connector', router.handler);
app.listen(Number(process.env['PORT'] ?? 3000), 'localhost');
