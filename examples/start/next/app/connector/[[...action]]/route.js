import { createRouter, HttpError } from 'stowage';
import { nextHandlers } from 'stowage/next';
import { getSession } from '../../../session.js';

export const runtime = 'nodejs';

const router = createRouter(
  {
    extensions: ['jpg', 'jpeg', 'png', 'gif', 'webp'],
    onlyPOST: true,
    sources: { photos: { title: 'Photos', root: 'photos', serve: 'public' } },
  },
  {
    checkAuthentication: async () => {
      const { user } = await getSession();
      if (user === undefined) throw new HttpError(401, 'Please log in.');
      return { role: 'member', subject: user };
    },
  },
);

export const { GET, HEAD, POST, OPTIONS } = nextHandlers(router);
