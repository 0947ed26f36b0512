import express from 'express';
import { createRouter, HttpError, type ConnectorHooks, type HookRequest } from 'stowage';

type RequestWithUser = express.Request & { user?: string | undefined };

const userOf = ({ native: { user } }: HookRequest<RequestWithUser>): string => {
  // The id becomes the name of a folder: allow only letters, digits, underscores and hyphens.
  if (user === undefined || !/^[\w-]{1,64}$/u.test(user)) throw new HttpError(401, 'Please log in.');
  return user;
};

const hooks: ConnectorHooks<RequestWithUser> = {
  checkAuthentication: (request) => ({ role: 'member', subject: userOf(request) }),
  resolveSources: (request) => {
    const user = userOf(request);
    return {
      id: user,
      sources: {
        own: { title: 'My files', root: `users/${user}`, serve: 'protected' },
        common: { title: 'Everybody’s files', root: 'common', serve: 'protected' },
      },
    };
  },
};

const router = createRouter({ onlyPOST: true, sources: {} }, hooks);

const app = express();
app.use((request: RequestWithUser, _response, next) => {
  // Replace this with your login.
  request.user = request.get('x-user');
  next();
});
app.use('/connector', router.handler);
app.listen(Number(process.env['PORT'] ?? 3000), 'localhost');
