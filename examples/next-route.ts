import { createRouter } from 'stowage';
import { nextHandlers } from 'stowage/next';

export const runtime = 'nodejs';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

export const { GET, HEAD, POST, OPTIONS } = nextHandlers(router);
