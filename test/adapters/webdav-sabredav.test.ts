import { describeWebdavServer } from './webdav-conformance.ts';

describeWebdavServer('SabreDAV');
