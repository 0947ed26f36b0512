import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createRouter } from 'stowage';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

const app = new Hono();
app.all('/connector/*', (context) => router.fetch(context.req.raw, context));
serve({ fetch: app.fetch, port: 3000, hostname: 'localhost' });
