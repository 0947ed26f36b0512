import express from 'express';
import { createRouter } from 'stowage';

const router = createRouter({ sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } } });
const page = `<!doctype html>
  <link rel="stylesheet" href="/jodit/jodit.min.css">
  <link rel="stylesheet" href="/stowage/jodit.css">
  <textarea id="editor"></textarea>
  <script src="/jodit/jodit.min.js"></script>
  <script src="/stowage/jodit.global.js"></script>
  <script>StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' });</script>`;

const app = express();
app.use('/connector', router.handler);
app.use('/jodit', express.static('node_modules/jodit/es2021'));
app.use('/stowage', express.static('node_modules/stowage/dist'));
app.get('/', (request, response) => response.send(page));
app.listen(process.env.PORT ?? 3000, 'localhost');
