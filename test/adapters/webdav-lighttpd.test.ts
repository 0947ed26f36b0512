import { describeWebdavServer } from './webdav-conformance.ts';

describeWebdavServer('lighttpd', [
  {
    test: 'copy: a copy has a fresh modification time',
    reason: 'lighttpd gives a copy the time of its original, and DAV cannot set it',
  },
]);
