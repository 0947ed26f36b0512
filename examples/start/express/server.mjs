import { randomBytes } from 'node:crypto';
import express from 'express';
import session from 'express-session';
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

const app = express();
app.use(
  session({
    secret: randomBytes(32).toString('hex'),
    resave: false,
    saveUninitialized: false,
    cookie: { sameSite: 'lax', secure: 'auto' },
  }),
);
app.use('/connector', router.handler);
app.use('/jodit', express.static('node_modules/jodit/es2021'));
app.use('/stowage', express.static('node_modules/stowage/dist'));
app.get('/', (request, response) => {
  response.send(request.session.user === undefined ? login : page);
});
app.post('/login', express.urlencoded(), (request, response, next) => {
  const { user, password } = request.body ?? {};
  if (!isUser(user, password)) return response.redirect('/');
  request.session.regenerate((error) => {
    if (error) return next(error);
    request.session.user = user;
    response.redirect('/');
  });
});
app.listen(process.env.PORT ?? 3000, 'localhost');
