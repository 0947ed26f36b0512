import { randomBytes } from 'node:crypto';
import bodyParser from '@koa/bodyparser';
import Koa from 'koa';
import mount from 'koa-mount';
import session from 'koa-session';
import files from 'koa-static';
import { createRouter, HttpError } from 'stowage';

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
    checkAuthentication: ({ native: { user } }) => {
      if (user === undefined) throw new HttpError(401, 'Please log in.');
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

const app = new Koa();
app.keys = [randomBytes(32).toString('hex')];
app.use(session({ sameSite: 'lax', secure: false }, app)); // with HTTPS: secure: true
app.use(async (context, next) => {
  if (!context.path.startsWith('/connector/')) return next();
  context.respond = false; // The connector sends the response itself.
  context.req.user = context.session.user;
  await router.handler(context.req, context.res);
});
app.use(mount('/jodit', files('node_modules/jodit/es2021')));
app.use(mount('/stowage', files('node_modules/stowage/dist')));
app.use(bodyParser()); // After the connector, which reads its bodies itself.
app.use(async (context) => {
  if (context.path === '/login' && context.method === 'POST') {
    const { user, password } = context.request.body;
    if (isUser(user, password)) context.session.user = user;
    context.redirect('/');
  } else if (context.path === '/') {
    context.body = context.session.user === undefined ? login : page;
  }
});
app.listen(process.env.PORT ?? 3000, 'localhost');
