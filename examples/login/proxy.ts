import { createApp, readOnly } from 'stowage';

const app = createApp({
  // The proxy checks the login and sets this header. It must never pass on a header of the client with this name.
  auth: { header: 'X-Role', from: ['127.0.0.1'] },
  publicUrl: '/connector/',
  onlyPOST: true,
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'protected' } },
  accessControl: [...readOnly, { role: 'editor', CHANGE: true }],
});
void app.listen(Number(process.env['PORT'] ?? 8081), '127.0.0.1');
