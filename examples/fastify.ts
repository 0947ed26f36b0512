import { fastify } from 'fastify';
import { createRouter } from 'stowage';
import { fastifyConnector } from 'stowage/fastify';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

const app = fastify();
app.register(fastifyConnector(router), { prefix: '/connector' });
await app.listen({ port: 3000 });
