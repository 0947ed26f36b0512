import { randomBytes } from 'node:crypto';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { getSignedCookie, setSignedCookie } from 'hono/cookie';
import { createRouter, HttpError } from 'stowage';

// Replace these with your own users and hashed passwords.
const passwords = new Map([
  ['ann', 'secret of ann'],
  ['bob', 'secret of bob'],
]);
const isUser = (user, password) => passwords.has(user) && passwords.get(user) === password;
const secret = randomBytes(32).toString('hex');

const router = createRouter(
  {
    extensions: ['jpg', 'jpeg', 'png', 'gif', 'webp'],
    onlyPOST: true,
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
  },
  {
    checkAuthentication: async ({ native }) => {
      const user = await getSignedCookie(native, secret, 'user');
      if (!user) throw new HttpError(401, 'Please log in.');
      return { role: 'member', subject: user };
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

const app = new Hono();
app.all('/connector/*', (context) => router.fetch(context.req.raw, context));
const assets = { '/jodit': 'node_modules/jodit/es2021', '/stowage': 'node_modules/stowage/dist' };
for (const [prefix, root] of Object.entries(assets)) {
  app.use(`${prefix}/*`, serveStatic({ root, rewriteRequestPath: (path) => path.slice(prefix.length) }));
}
app.get('/', async (context) =>
  context.html((await getSignedCookie(context, secret, 'user')) ? page : login),
);
app.post('/login', async (context) => {
  const { user, password } = await context.req.parseBody();
  if (isUser(user, password)) {
    // With HTTPS, add secure: true.
    await setSignedCookie(context, 'user', user, secret, { httpOnly: true, sameSite: 'Lax', maxAge: 86_400 });
  }
  return context.redirect('/');
});
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: 'localhost' });
