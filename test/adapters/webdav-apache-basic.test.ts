import { describeWebdavServer } from './webdav-conformance.ts';

describeWebdavServer('Apache with Basic');
