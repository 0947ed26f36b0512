import { createServer } from 'node:http';
import { createRouter } from 'stowage';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

createServer((request, response) => void router.handler(request, response)).listen(3000, 'localhost');
