import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createRouter, HttpError } from 'stowage';

// Replace these with your own users and hashed passwords.
const passwords = new Map([
  ['ann', 'secret of ann'],
  ['bob', 'secret of bob'],
]);
const isUser = (user, password) => passwords.has(user) && passwords.get(user) === password;
const sessions = new Map();
const userOf = (request) => sessions.get(/(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1]);

const router = createRouter(
  {
    extensions: ['jpg', 'jpeg', 'png', 'gif', 'webp'],
    onlyPOST: true,
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
  },
  {
    checkAuthentication: ({ native }) => {
      const user = userOf(native);
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

const assets = {
  '/jodit/jodit.min.js': ['text/javascript', 'node_modules/jodit/es2021/jodit.min.js'],
  '/jodit/jodit.min.css': ['text/css', 'node_modules/jodit/es2021/jodit.min.css'],
  '/stowage/jodit.global.js': ['text/javascript', 'node_modules/stowage/dist/jodit.global.js'],
  '/stowage/jodit.css': ['text/css', 'node_modules/stowage/dist/jodit.css'],
};

const logIn = async (request, response) => {
  // Node enforces the announced length.
  if (!(Number(request.headers['content-length']) < 1000)) return response.writeHead(413).end();
  const form = new URLSearchParams(await text(request));
  const headers = { location: '/' };
  if (isUser(form.get('user'), form.get('password'))) {
    const id = randomUUID();
    sessions.set(id, form.get('user'));
    headers['set-cookie'] = `session=${id}; HttpOnly; SameSite=Lax; Path=/`; // with HTTPS add Secure
  }
  response.writeHead(303, headers).end();
};

const answer = async (request, response) => {
  const { method, url } = request;
  if (url.startsWith('/connector/')) await router.handler(request, response);
  else if (method === 'POST' && url === '/login') await logIn(request, response);
  else if (url === '/') {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(userOf(request) === undefined ? login : page);
  } else if (url in assets) {
    const [type, file] = assets[url];
    response.setHeader('content-type', type);
    createReadStream(file).pipe(response);
  } else response.writeHead(404).end();
};

createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
}).listen(process.env.PORT ?? 3000, 'localhost');
