import Koa from 'koa';
import { createRouter } from 'stowage';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

const app = new Koa();
app.use(async (context, next) => {
  if (!context.path.startsWith('/connector/')) {
    await next();
    return;
  }
  context.respond = false;
  await router.handler(context.req, context.res);
});
app.listen(3000, 'localhost');
