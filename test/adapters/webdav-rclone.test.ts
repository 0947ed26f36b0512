import { describeWebdavServer } from './webdav-conformance.ts';

describeWebdavServer('rclone');
