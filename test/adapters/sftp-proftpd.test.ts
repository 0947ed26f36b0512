import { describeSftpServer } from './path-conformance.ts';
import { onlyThemes } from './further-servers.ts';
import { hasProftpd, startProftpd } from '../../tools/test-servers/proftpd.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';

// The rest does not depend on the server: it runs on OpenSSH.
const ALL = ['stat', 'write', 'folders', 'removal', 'copy', 'move'];
const themesOf = (...ofServer: readonly string[]) => ALL.filter(onlyThemes(ofServer));

describeSftpServer({
  name: 'ProFTPD',
  installed: hasProftpd,
  start: () => startProftpd(),
  themes: themesOf('stat', 'write', 'removal', 'move'),
});

describeSftpServer({
  name: 'OpenSSH without extensions',
  installed: hasSshd,
  start: () => startSshd(['posix-rename', 'hardlink', 'fsync', 'copy-data', 'statvfs']),
  themes: themesOf('write', 'folders', 'copy', 'move'),
});
