import { describeFtpServer } from './path-conformance.ts';
import { onlyThemes } from './further-servers.ts';
import {
  hasPyftpdlib,
  hasVsftpd,
  startFtp,
  startPyftpdlib,
  startVsftpd,
} from '../../tools/test-servers/ftp.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';

// The rest does not depend on the server: it runs on ProFTPD.
const ALL = ['stat', 'list', 'read', 'write', 'folders', 'removal', 'copy', 'move'];
const themesOf = (...ofServer: readonly string[]) => ALL.filter(onlyThemes(ofServer));

describeFtpServer({
  name: 'ProFTPD with TLS',
  installed: hasProftpd,
  start: () => startFtp(true),
  themes: themesOf('write', 'copy'),
});

describeFtpServer({
  name: 'ProFTPD with TLS 1.2',
  installed: hasProftpd,
  start: () => startFtp(true, 'TLSProtocol TLSv1.2'),
  themes: themesOf('write'),
});

describeFtpServer({
  name: 'ProFTPD without MLSD and MLST',
  installed: hasProftpd,
  start: () => startFtp(false, 'FactsAdvertise off\n<Limit MLSD MLST>\nDenyAll\n</Limit>'),
  themes: themesOf('stat', 'list', 'removal'),
});

describeFtpServer({
  name: 'pyftpdlib',
  installed: hasPyftpdlib,
  start: startPyftpdlib,
  themes: [...themesOf('write', 'copy', 'removal'), 'names'],
});

describeFtpServer({
  name: 'vsftpd',
  installed: hasVsftpd,
  start: startVsftpd,
  themes: [...themesOf('write', 'removal'), 'names'],
});
