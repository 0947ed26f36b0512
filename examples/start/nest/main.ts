import { randomBytes } from 'node:crypto';
import { Body, Controller, Get, Module, Post, Redirect, Req, Session } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import session from 'express-session';
import { createRouter, HttpError } from 'stowage';

// Replace these with your own users and hashed passwords.
const passwords = new Map([
  ['ann', 'secret of ann'],
  ['bob', 'secret of bob'],
]);

interface WithSession {
  session: { user?: string; regenerate(done: (error?: unknown) => void): void };
}

const router = createRouter<WithSession>(
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

@Controller()
class PageController {
  @Get()
  show(@Session() session: WithSession['session']): string {
    return session.user === undefined ? login : page;
  }

  @Post('login')
  @Redirect('/', 303)
  async logIn(@Body() form: Record<string, string>, @Req() request: WithSession): Promise<void> {
    const { user, password } = form;
    if (user === undefined || !passwords.has(user) || passwords.get(user) !== password) return;
    await new Promise<void>((resolve, reject) => {
      request.session.regenerate((error) => (error ? reject(error as Error) : resolve()));
    });
    request.session.user = user;
  }
}

@Module({ controllers: [PageController] })
class AppModule {}

const start = async (): Promise<void> => {
  const app = await NestFactory.create<NestExpressApplication>(AppModule);
  app.use(
    session({
      secret: randomBytes(32).toString('hex'),
      resave: false,
      saveUninitialized: false,
      cookie: { sameSite: 'lax', secure: 'auto' },
    }),
  );
  app.use('/connector', router.handler);
  app.useStaticAssets('node_modules/jodit/es2021', { prefix: '/jodit' });
  app.useStaticAssets('node_modules/stowage/dist', { prefix: '/stowage' });
  await app.listen(process.env['PORT'] ?? 3000, 'localhost');
};

void start();
