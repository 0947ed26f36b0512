import { describeWebdavServer } from './webdav-conformance.ts';

// Apache is worked through with the harder login; the suite runs with Basic on nginx, lighttpd, rclone and SabreDAV.
describeWebdavServer('Apache with Digest');
