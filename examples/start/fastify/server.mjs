import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import session from '@fastify/session';
import files from '@fastify/static';
import { fastify } from 'fastify';
import { createRouter, HttpError } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';

// Replace these with your own users and hashed passwords.
const passwords = new Map([
  ['ann', 'secret of ann'],
  ['bob', 'secret of bob'],
]);
const isUser = (user, password) => passwords.has(user) && passwords.get(user) === password;

const router = createRouter(
  {
    extensions: ['jpg', 'jpeg', 'png', 'gif', 'webp'],
    onlyPOST: true,
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
  },
  {
    checkAuthentication: ({ native: { session } }) => {
      if (session.user === undefined) throw new HttpError(401, 'Please log in.');
      return { role: 'member', subject: session.user };
    },
  },
);

const login = `<!doctype html>
  <title>Log in</title>
  <form method="post" action="/login">
    <input name="user" placeholder="Name" required>
    <input name="password" type="password" placeholder="Password" required>
    <button>Log in</button>
  </form>`;

const page = `<!doctype html>
  <title>Editor</title>
  <link rel="stylesheet" href="/jodit/jodit.min.css">
  <link rel="stylesheet" href="/stowage/jodit.css">
  <textarea id="editor"></textarea>
  <script src="/jodit/jodit.min.js"></script>
  <script src="/stowage/jodit.global.js"></script>
  <script>
    StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' });
  </script>`;

const app = fastify();
app.register(formbody);
app.register(cookie);
app.register(session, {
  secret: randomBytes(32).toString('hex'),
  saveUninitialized: false,
  cookie: { sameSite: 'lax', secure: 'auto' },
});
app.register(fastifyConnector(router), { prefix: '/connector' });
app.register(files, { root: resolve('node_modules/jodit/es2021'), prefix: '/jodit/' });
app.register(files, {
  root: resolve('node_modules/stowage/dist'),
  prefix: '/stowage/',
  decorateReply: false,
});
app.get('/', (request, reply) => {
  return reply.type('text/html').send(request.session.user === undefined ? login : page);
});
app.post('/login', async (request, reply) => {
  const { user, password } = request.body ?? {};
  if (isUser(user, password)) {
    await request.session.regenerate();
    request.session.user = user;
  }
  return reply.redirect('/');
});
await app.listen({ port: Number(process.env.PORT ?? 3000) });
