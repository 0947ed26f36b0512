import { describeFtpServer, PROFTPD_REFUSES } from './path-conformance.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';

describeFtpServer({
  name: 'ProFTPD',
  installed: hasProftpd,
  start: () => startFtp(),
  skip: PROFTPD_REFUSES,
});
