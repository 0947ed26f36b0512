import { describeFtpServer, PROFTPD_REFUSES } from './path-conformance.ts';
import { startFtp } from './servers/ftp.ts';
import { hasProftpd } from './servers/proftpd.ts';

describeFtpServer({
  name: 'ProFTPD',
  installed: hasProftpd,
  start: () => startFtp(),
  skip: PROFTPD_REFUSES,
});
