import { createApp, readOnly } from 'stowage';

const app = createApp({
  // The proxy asks who it is, and sets this header; what clients send under its name must not come through.
  auth: { header: 'X-Role', from: ['127.0.0.1'] },
  publicUrl: '/connector/',
  onlyPOST: true,
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'protected' } },
  accessControl: [...readOnly, { role: 'editor', CHANGE: true }],
});
void app.listen(Number(process.env['PORT'] ?? 8081), '127.0.0.1');
