import { describeSftpServer } from './path-conformance.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';

describeSftpServer({ name: 'OpenSSH', installed: hasSshd, start: () => startSshd() });
