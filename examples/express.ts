import express from 'express';
import { createRouter } from 'stowage';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

const app = express();
app.use('/connector', router.handler);
app.listen(3000, 'localhost');
