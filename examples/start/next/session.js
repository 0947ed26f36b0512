import { getIronSession } from 'iron-session';
import { cookies } from 'next/headers';

/** The session of the request, in an encrypted cookie. */
export const getSession = async () =>
  getIronSession(await cookies(), {
    cookieName: 'session',
    password: process.env.SESSION_SECRET,
    cookieOptions: { sameSite: 'lax', secure: process.env.NODE_ENV === 'production' },
  });
