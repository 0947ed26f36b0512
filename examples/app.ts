import { createApp, HttpError, readOnly } from 'stowage';

const app = createApp(
  {
    sources: {
      photos: { title: 'Photos', root: 'photos', serve: 'public' },
    },
    accessControl: [...readOnly, { role: 'editor', CHANGE: true }],
  },
  {
    checkAuthentication: (request) => {
      if (request.headers['authorization'] !== 'Bearer a-token-that-you-verify') {
        throw new HttpError(401, 'Please log in.');
      }
      return 'editor';
    },
  },
);

await app.listen(8081, '127.0.0.1');
