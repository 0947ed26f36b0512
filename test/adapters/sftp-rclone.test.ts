import { describeSftpServer } from './path-conformance.ts';
import { hasRclone, startRcloneSftp } from '../../tools/test-servers/ssh.ts';

describeSftpServer({
  name: 'rclone',
  installed: hasRclone,
  start: () => startRcloneSftp(),
  themes: ['stat', 'write', 'folders', 'removal', 'move'],
  // It makes a folder that is there.
  promises: { atomicCreate: false },
});
