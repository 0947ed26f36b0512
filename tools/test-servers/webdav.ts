import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openWebdavAdapter, parseWebdavOptions } from '../../packages/stowage/dist/internals.js';
import type { WebdavAdapter } from '../../packages/stowage/dist/adapters/remote/webdav/adapter.js';
import { endProcess, freePort, startServer } from './server-processes.ts';

/** A real WebDAV server on a free port of this machine, with its own folder. */
export interface DavServer {
  /** URL of the root collection. */
  readonly url: string;
  /** The folder on disk. */
  readonly data: string;
  stop(): Promise<void>;
}

export const login = { username: 'bob', password: 'secret' } as const;

const isRoot = process.getuid?.() === 0;

/** Whether a program exists at its path in Debian. */
const has = (path: string): boolean => existsSync(path);

export const programs = {
  apache: has('/usr/sbin/apache2') && has('/usr/lib/apache2/modules/mod_dav_fs.so'),
  nginx: has('/usr/sbin/nginx') && has('/usr/lib/nginx/modules/ngx_http_dav_ext_module.so'),
  rclone: has('/usr/bin/rclone'),
  lighttpd: has('/usr/sbin/lighttpd') && has('/usr/lib/lighttpd/mod_webdav.so'),
  sabre: has('/usr/bin/php') && has('/usr/share/php/Sabre/DAV/Server.php'),
};

interface Layout {
  readonly base: string;
  readonly data: string;
  readonly port: number;
}

const prepare = async (): Promise<Layout> => {
  const base = await mkdtemp(join(tmpdir(), 'stowage-dav-'));
  await chmod(base, 0o755);
  for (const name of ['data', 'tmp', 'lock', 'log', 'run', 'empty']) {
    await mkdir(join(base, name));
    // Servers that are started by root drop their privileges.
    if (isRoot) await chown(join(base, name), idOf('www-data', '-u'), idOf('www-data', '-g'));
  }
  return { base, data: join(base, 'data'), port: await freePort() };
};

const idOf = (user: string, flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, user]).toString());

const start = async (
  { base, data, port }: Layout,
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<DavServer> => {
  // PHP's workers outlive the started process: they end with their process group.
  const detached = command.endsWith('php');
  const ask = () => fetch(`http://127.0.0.1:${String(port)}/`).then((answer) => answer.body?.cancel());
  const child = await startServer([command, ...args], ask, { env: environment, detached });
  return {
    url: `http://127.0.0.1:${String(port)}/dav/`,
    data,
    stop: async () => {
      if (detached && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await endProcess(child);
      await rm(base, { recursive: true, force: true });
    },
  };
};

const passwords = async (base: string, realm = 'dav'): Promise<void> => {
  const { username, password } = login;
  const sha = createHash('sha1').update(password).digest('base64');
  await writeFile(join(base, 'htpasswd'), `${username}:{SHA}${sha}\n`, { mode: 0o644 });
  const ha1 = createHash('md5').update(`${username}:${realm}:${password}`).digest('hex');
  await writeFile(join(base, 'htdigest'), `${username}:${realm}:${ha1}\n`, { mode: 0o644 });
};

const modules = [
  'mpm_event',
  'authn_core',
  'authz_core',
  'authn_file',
  'authz_user',
  'auth_basic',
  'auth_digest',
  'mime',
  'dir',
  'alias',
  'dav',
  'dav_fs',
];

/** Apache httpd with mod_dav. */
export const startApache = async (
  auth: 'none' | 'basic' | 'digest',
  directives = '',
  realm = 'dav',
): Promise<DavServer> => {
  const layout = await prepare();
  const { base, data, port } = layout;
  await passwords(base, realm);
  const access = {
    none: 'Require all granted',
    basic: `AuthType Basic\nAuthName "dav"\nAuthUserFile ${base}/htpasswd\nRequire valid-user`,
    digest: `AuthType Digest\nAuthName "${realm}"\nAuthDigestDomain /dav/\nAuthUserFile ${base}/htdigest\nRequire valid-user`,
  }[auth];
  const lines = [
    `ServerRoot ${base}`,
    `PidFile ${base}/run/httpd.pid`,
    `Listen 127.0.0.1:${String(port)}`,
    'ServerName 127.0.0.1',
    `DefaultRuntimeDir ${base}/run`,
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    'TypesConfig /etc/mime.types',
    `ErrorLog ${base}/log/error.log`,
    'StartServers 1',
    `DavLockDB ${base}/lock/db`,
    `DocumentRoot ${base}/empty`,
    `Alias /dav ${data}`,
    'AllowEncodedSlashes NoDecode',
    ...(isRoot ? ['User www-data', 'Group www-data'] : []),
    `<Directory ${data}>`,
    'Dav On',
    'DirectoryIndex disabled',
    'Options None',
    'AllowOverride None',
    access,
    '</Directory>',
    directives,
  ];
  await writeFile(join(base, 'httpd.conf'), `${lines.join('\n')}\n`);
  return start(layout, '/usr/sbin/apache2', ['-f', join(base, 'httpd.conf'), '-D', 'FOREGROUND']);
};

/** nginx with its dav modules. */
export const startNginx = async (): Promise<DavServer> => {
  const layout = await prepare();
  const { base, data, port } = layout;
  await passwords(base);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${base}/tmp;`)
    .join(' ');
  await writeFile(
    join(base, 'nginx.conf'),
    `${isRoot ? 'user www-data;' : ''}
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
worker_processes 1; pid ${base}/nginx.pid; error_log ${base}/log/error.log warn; daemon off;
events { worker_connections 256; }
http {
  access_log off; ${temp} client_max_body_size 0; dav_ext_lock_zone zone=dav:4m;
  server {
    listen 127.0.0.1:${String(port)};
    location /dav/ {
      alias ${data}/; auth_basic dav; auth_basic_user_file ${base}/htpasswd;
      dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK;
      dav_ext_lock zone=dav; create_full_put_path off; dav_access user:rw group:rw all:r;
    }
  }
}
`,
  );
  return start(layout, '/usr/sbin/nginx', ['-c', join(base, 'nginx.conf'), '-p', base]);
};

/** lighttpd with mod_webdav. */
export const startLighttpd = async (): Promise<DavServer> => {
  const layout = await prepare();
  const { base, data, port } = layout;
  await writeFile(join(base, 'users'), `${login.username}:${login.password}\n`, { mode: 0o644 });
  await writeFile(
    join(base, 'lighttpd.conf'),
    `server.modules = ("mod_auth", "mod_authn_file", "mod_alias", "mod_webdav")
server.document-root = "${base}/empty"
server.upload-dirs = ("${base}/tmp")
server.bind = "127.0.0.1"
server.port = ${String(port)}
server.errorlog = "${base}/log/error.log"
${isRoot ? 'server.username = "www-data"\nserver.groupname = "www-data"' : ''}
alias.url = ("/dav" => "${data}")
auth.backend = "plain"
auth.backend.plain.userfile = "${base}/users"
$HTTP["url"] =~ "^/dav(?:/|$)" {
  webdav.activate = "enable"
  auth.require = ("" => ("method" => "basic", "realm" => "dav", "require" => "valid-user"))
}
`,
  );
  return start(layout, '/usr/sbin/lighttpd', ['-D', '-f', join(base, 'lighttpd.conf')]);
};

/** rclone serving a folder. */
export const startRclone = async (): Promise<DavServer> => {
  const layout = await prepare();
  const { base, data, port } = layout;
  const address = ['--addr', `127.0.0.1:${String(port)}`, '--baseurl', '/dav'];
  const user = ['--user', login.username, '--pass', login.password];
  const environment = { ...process.env, RCLONE_CONFIG: join(base, 'none.conf') };
  const args = [
    'serve',
    'webdav',
    data,
    ...address,
    ...user,
    '--cache-dir',
    join(base, 'tmp'),
    '--dir-cache-time',
    '0s',
  ];
  return start(layout, '/usr/bin/rclone', args, environment);
};

/** SabreDAV, the engine of Nextcloud and ownCloud, in PHP's own server. */
export const startSabre = async (): Promise<DavServer> => {
  const layout = await prepare();
  const { base, data, port } = layout;
  await writeFile(
    join(base, 'server.php'),
    `<?php
ini_set('display_errors', '0');
spl_autoload_register(function ($class) {
  $file = '/usr/share/php/' . str_replace('\\\\', '/', $class) . '.php';
  if (is_file($file)) require $file;
});
$login = new class extends Sabre\\DAV\\Auth\\Backend\\AbstractBasic {
  protected function validateUserPass($username, $password) {
    return $username === '${login.username}' && $password === '${login.password}';
  }
};
// As in its documentation: else it reports success for a mkdir() or rename() that has failed.
set_error_handler(function ($code, $message, $file, $line) {
  throw new ErrorException($message, 0, $code, $file, $line);
}, E_WARNING);
$server = new Sabre\\DAV\\Server(new Sabre\\DAV\\FS\\Directory('${data}'));
$server->setBaseUri('/dav/');
$server->addPlugin(new Sabre\\DAV\\Auth\\Plugin($login, 'dav'));
$server->addPlugin(new Sabre\\DAV\\Locks\\Plugin(new Sabre\\DAV\\Locks\\Backend\\File('${base}/lock/locks')));
$server->exec();
`,
  );
  const args = [
    '-d',
    `upload_tmp_dir=${base}/tmp`,
    '-S',
    `127.0.0.1:${String(port)}`,
    join(base, 'server.php'),
  ];
  return start(layout, '/usr/bin/php', args, { ...process.env, PHP_CLI_SERVER_WORKERS: '8' });
};

/** The servers that tests run against, with their options besides `url`. */
export const davServers = [
  {
    name: 'Apache with Basic',
    installed: programs.apache,
    start: () => startApache('basic'),
    options: login,
  },
  {
    name: 'Apache with Digest',
    installed: programs.apache,
    start: () => startApache('digest'),
    options: { ...login, auth: 'digest' },
  },
  { name: 'nginx', installed: programs.nginx, start: startNginx, options: login },
  { name: 'rclone', installed: programs.rclone, start: startRclone, options: login },
  { name: 'lighttpd', installed: programs.lighttpd, start: startLighttpd, options: login },
  { name: 'SabreDAV', installed: programs.sabre, start: startSabre, options: login },
] as const;

/** Opens a store of the built package on a server; `root` is a folder below its collection. */
export const openDavStore = (server: { readonly url: string }, options: object, root = ''): WebdavAdapter => {
  const parsed = parseWebdavOptions({ url: server.url, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  return openWebdavAdapter(parsed.value, root);
};
