import { describeSftpServer } from './path-conformance.ts';
import { hasProftpd, startProftpd } from '../../tools/test-servers/proftpd.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';

// The rest does not depend on the server: it runs on OpenSSH.
const themes = ['stat', 'write', 'folders', 'removal', 'move'];

describeSftpServer({ name: 'ProFTPD', installed: hasProftpd, start: () => startProftpd(), themes });

describeSftpServer({
  name: 'OpenSSH without extensions',
  installed: hasSshd,
  start: () => startSshd(['posix-rename', 'hardlink', 'fsync', 'copy-data', 'statvfs']),
  themes: [...themes, 'copy'],
});
