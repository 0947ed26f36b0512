import { installAzurite } from './azurite.mjs';
import { outputOf, run } from './process.mjs';
import { unpackVsftpd } from './vsftpd.mjs';

/** Debian programs that tests use, and what is skipped without them. */
export const packages = [
  ['chromium-headless-shell', 'tests of the real editor in a browser, tests that print PDF'],
  ['libatomic1', 'all tests on Node 26'],
  ['fonts-liberation', 'line breaks of rendered DOCX'],
  ['fonts-noto-cjk', 'looks of Chinese, Japanese and Korean text in PDF'],
  ['fonts-noto-color-emoji', 'looks of emoji in PDF'],
  ['poppler-utils', 'tests that read PDF'],
  ['libimage-exiftool-perl', 'tests that read what pictures say of where they were taken'],
  ['libreoffice-writer-nogui', 'tests that render DOCX'],
  ['apache2', 'the webdav adapter on Apache, with Basic and Digest'],
  ['libapache2-mod-xsendfile', 'files that Apache sends'],
  ['nginx', 'the webdav adapter on nginx, reason phrases behind a proxy'],
  ['libnginx-mod-http-dav-ext', 'the webdav adapter on nginx'],
  ['rclone', 'the webdav adapter on rclone'],
  ['lighttpd', 'the webdav adapter on lighttpd'],
  ['lighttpd-mod-webdav', 'the webdav adapter on lighttpd'],
  ['php-sabre-dav', 'the webdav adapter on SabreDAV'],
  ['openssh-server', 'the sftp adapter on OpenSSH'],
  ['proftpd-core', 'the sftp and ftp adapters on ProFTPD'],
  ['proftpd-mod-crypto', 'the sftp and ftp adapters on ProFTPD'],
  ['python3-pyftpdlib', 'the ftp adapter on pyftpdlib'],
  ['redis-server', 'what instances share'],
  ['clamav-daemon', 'uploads that clamd looks at'],
  ['ffmpeg', 'thumbnails of videos'],
  ['unzip', 'archives of several files, read by another program'],
  ['radosgw', 'the s3 adapter on Ceph'],
  ['ceph-mon', 'the s3 adapter on Ceph'],
  ['ceph-osd', 'the s3 adapter on Ceph'],
  ['ceph-common', 'the s3 adapter on Ceph'],
];

const isInstalled = (name) =>
  outputOf('dpkg-query', ['--show', '--showformat=${db:Status-Status}', name]) === 'installed';

const missing = () => packages.filter(([name]) => !isInstalled(name));

const QUIET = {
  DEBIAN_FRONTEND: 'noninteractive',
  // Tests start servers themselves, with their own configuration; at this run level Debian's scripts start
  // none.
  RUNLEVEL: '1',
};

const install = async (names) => {
  process.stdout.write(`Installing Debian packages: ${names.join(' ')}\n`);
  await run('apt-get', ['update', '-q'], QUIET);
  const known = names.filter((name) =>
    /Candidate: (?!\(none\))/u.test(outputOf('apt-cache', ['policy', name]) ?? ''),
  );
  if (known.length === 0) return;
  // Without waiting for the disk after each file: after a crash they are installed again.
  const options = ['-q', '-y', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-unsafe-io'];
  await run('apt-get', ['install', ...options, ...known], QUIET);
};

/**
 * Installs the packages that tests need (as root on a Debian system), vsftpd and Azurite. Returns what is
 * still missing, one line each with the tests that are skipped.
 */
export const installPackages = async () => {
  // Both mostly wait for servers.
  const azurite = installAzurite();
  const wanted = missing().map(([name]) => name);
  const permitted = process.getuid?.() === 0 && outputOf('apt-get', ['--version']) !== undefined;
  if (wanted.length > 0 && permitted) await install(wanted);
  const left = missing().map(([name, needs]) => `${name} is not installed. Left out: ${needs}`);
  return [...left, ...(await unpackVsftpd(permitted)), ...(await azurite)];
};
