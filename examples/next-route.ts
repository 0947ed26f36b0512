import { createRouter } from 'stowage';

export const runtime = 'nodejs';

const router = createRouter({
  sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
});

const answer = (request: Request): Promise<Response> => router.fetch(request);

export { answer as GET, answer as HEAD, answer as POST, answer as OPTIONS };
