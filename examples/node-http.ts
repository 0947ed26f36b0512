import { createServer } from 'node:http';
import { createRouter } from 'stowage';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', baseurl: 'https://files.example.com/photos/' } },
});

createServer((request, response) => void router.handler(request, response)).listen(3000);
