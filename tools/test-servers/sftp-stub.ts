import {
  closeSync,
  type Stats,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
} from 'node:fs';
import {
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2, { type Attributes, type Connection, type SFTPWrapper } from 'ssh2';
import type { SftpServer } from './ssh.ts';

type Request =
  | 'OPEN'
  | 'READ'
  | 'WRITE'
  | 'FSTAT'
  | 'CLOSE'
  | 'OPENDIR'
  | 'READDIR'
  | 'LSTAT'
  | 'REMOVE'
  | 'RENAME';

/** Differences of a server from OpenSSH. It supports no extensions. */
export interface SftpDialect {
  /** Entries of listings have the attributes of the targets of links. */
  readonly followsInListings?: boolean;
  /** An attribute that is missing in all responses; the kind of an entry is a part of its mode. */
  readonly untold?: 'size' | 'kind' | undefined;
  /**
   * A new file exists only after it is closed, as in front of an object store: before that, its attributes
   * are not available.
   */
  readonly storesAtClose?: boolean;
  /** It announces hard links, and denies each: Linux does so on FAT. */
  readonly deniesLinks?: boolean;
  /** Maximum number of concurrent connections; further ones are closed. */
  readonly most?: number;
  /** The text form of a listed entry. Default: its name. */
  readonly longname?: (name: string, isLink: boolean) => string;
  /** The stored name for a requested one, as in Windows. */
  readonly fold?: (name: string) => string;
  /**
   * Called before a request is handled; 'mute': it is neither executed nor answered, 'cut': it is executed,
   * and the connection ends instead of a response, 'refuse': it fails, 'unknown': it is not supported.
   */
  readonly before?: (request: Request, path: string) => 'mute' | 'cut' | 'refuse' | 'unknown' | undefined;
}

/** A scripted SFTP server with its own folder. */
export interface SftpStub {
  readonly options: SftpServer['options'];
  /** The folder on disk. */
  readonly data: string;
  /** May be changed at run time. */
  dialect: SftpDialect;
  /** Number of files and folders that clients have open. */
  readonly open: () => number;
  readonly close: () => Promise<void>;
}

const { OK, EOF, NO_SUCH_FILE, PERMISSION_DENIED, FAILURE, OP_UNSUPPORTED } = ssh2.utils.sftp.STATUS_CODE;

const attributesFrom = ({ mode, uid, gid, size, atimeMs, mtimeMs }: Stats): Attributes => ({
  mode,
  uid,
  gid,
  size,
  atime: atimeMs / 1000,
  mtime: mtimeMs / 1000,
});

const attributesOf = (path: string, follows: boolean): Attributes => {
  return attributesFrom(follows ? statSync(path) : lstatSync(path));
};

interface Handle {
  readonly path: string;
  /** Set for a file. */
  readonly fd?: number;
  readonly isNew?: boolean;
  /** Set for a folder: names that are not listed yet. */
  names?: readonly string[];
}

const field = (text: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text)]);
};

/** Adds hard links to the first packet, the version: ssh2 announces no extensions. */
const announceLinks = (sftp: SFTPWrapper): void => {
  const { _protocol: protocol } = sftp as unknown as {
    readonly _protocol: { channelData: (id: number, packet: Buffer) => void };
  };
  const send = protocol.channelData.bind(protocol);
  protocol.channelData = (id, packet) => {
    protocol.channelData = send;
    const whole = Buffer.concat([packet, field('hardlink@openssh.com'), field('1')]);
    whole.writeUInt32BE(whole.length - 4);
    send(id, whole);
  };
};

/** Serves a folder of this machine in a session. */
const serve = (sftp: SFTPWrapper, stub: SftpStub, handles: Map<number, Handle>, hangUp: () => void): void => {
  if (stub.dialect.deniesLinks === true) announceLinks(sftp);
  sftp.on('EXTENDED', (id) => sftp.status(id, PERMISSION_DENIED));
  const whole = (path: string): string => {
    const [own, names] = [path.slice(0, stub.data.length), path.slice(stub.data.length).split('/')];
    return own + names.map((name) => stub.dialect.fold?.(name) ?? name).join('/');
  };
  /** Executes a request; errors of the file system become failures. */
  const act = (id: number, request: Request | undefined, path: string, work: () => void): void => {
    const verdict = request === undefined ? undefined : stub.dialect.before?.(request, path);
    if (verdict === 'mute') return;
    if (verdict === 'refuse') return void sftp.status(id, FAILURE);
    if (verdict === 'unknown') return void sftp.status(id, OP_UNSUPPORTED);
    try {
      if (verdict === 'cut') hangUp();
      work();
    } catch (error) {
      sftp.status(id, (error as NodeJS.ErrnoException).code === 'ENOENT' ? NO_SUCH_FILE : FAILURE);
    }
  };
  const done = (id: number, request: Request | undefined, path: string, work: () => void): void =>
    act(id, request, path, () => {
      work();
      sftp.status(id, OK);
    });
  const keep = (id: number, handle: Handle): void => {
    // All sessions share the handles.
    const bytes = randomBytes(4);
    handles.set(bytes.readUInt32BE(), handle);
    sftp.handle(id, bytes);
  };
  const known = (bytes: Buffer): Handle => {
    const handle = handles.get(bytes.readUInt32BE());
    if (handle === undefined) throw new Error('no such handle');
    return handle;
  };
  const told = ({ size, mode, ...others }: Attributes): Attributes => {
    const { untold } = stub.dialect;
    if (untold === 'size') return { mode, ...others } as Attributes;
    return { size, mode: untold === 'kind' ? mode & 0o7777 : mode, ...others };
  };
  const tell = (id: number, attributes: Attributes): void => sftp.attrs(id, told(attributes));
  const fdOf = (bytes: Buffer): number => known(bytes).fd ?? -1;
  const pathOf = (bytes: Buffer): string => handles.get(bytes.readUInt32BE())?.path ?? '';
  const entryOf = (folder: string, name: string) => {
    const { followsInListings = false, longname = String } = stub.dialect;
    const path = join(folder, name);
    const isLink = lstatSync(path).isSymbolicLink();
    const attrs = attributesOf(path, followsInListings);
    const letter = (attrs.mode & 0o170000) === 0o040000 ? 'd' : '-';
    const line = stub.dialect.untold === 'kind' ? `${letter}rw-rw-rw   1 root root ${name}` : name;
    return { filename: name, longname: longname(line, isLink), attrs: told(attrs) };
  };
  sftp.on('REALPATH', (id, path) =>
    act(id, undefined, path, () => {
      const filename = realpathSync(whole(path));
      sftp.name(id, [{ filename, longname: filename, attrs: attributesOf(filename, true) }]);
    }),
  );
  sftp.on('LSTAT', (id, path) => act(id, 'LSTAT', path, () => tell(id, attributesOf(whole(path), false))));
  sftp.on('STAT', (id, path) => act(id, undefined, path, () => tell(id, attributesOf(whole(path), true))));
  sftp.on('OPEN', (id, path, flags) =>
    act(id, 'OPEN', path, () => {
      const mode = ssh2.utils.sftp.flagsToString(flags) ?? 'r';
      keep(id, { path, fd: openSync(whole(path), mode), isNew: mode !== 'r' });
    }),
  );
  sftp.on('FSTAT', (id, bytes) =>
    act(id, 'FSTAT', pathOf(bytes), () => {
      if (stub.dialect.storesAtClose === true && known(bytes).isNew === true)
        return void sftp.status(id, NO_SUCH_FILE);
      tell(id, attributesFrom(fstatSync(fdOf(bytes))));
    }),
  );
  sftp.on('READ', (id, bytes, offset, length) =>
    act(id, 'READ', pathOf(bytes), () => {
      const piece = Buffer.alloc(length);
      const count = readSync(fdOf(bytes), piece, 0, length, offset);
      if (count === 0) sftp.status(id, EOF);
      else sftp.data(id, piece.subarray(0, count));
    }),
  );
  sftp.on('WRITE', (id, bytes, offset, piece) =>
    done(id, 'WRITE', pathOf(bytes), () => void writeSync(fdOf(bytes), piece, 0, piece.length, offset)),
  );
  sftp.on('CLOSE', (id, bytes) =>
    done(id, 'CLOSE', pathOf(bytes), () => {
      const { fd } = known(bytes);
      handles.delete(bytes.readUInt32BE());
      if (fd !== undefined) closeSync(fd);
    }),
  );
  sftp.on('READLINK', (id, path) =>
    act(id, undefined, path, () => {
      const filename = readlinkSync(whole(path));
      sftp.name(id, [{ filename, longname: filename, attrs: attributesOf(whole(path), false) }]);
    }),
  );
  sftp.on('OPENDIR', (id, path) =>
    act(id, 'OPENDIR', path, () => keep(id, { path: whole(path), names: readdirSync(whole(path)) })),
  );
  sftp.on('READDIR', (id, bytes) =>
    act(id, 'READDIR', pathOf(bytes), () => {
      const handle = known(bytes);
      const { names = [], path } = handle;
      handle.names = [];
      if (names.length === 0) sftp.status(id, EOF);
      else
        sftp.name(
          id,
          names.map((name) => entryOf(path, name)),
        );
    }),
  );
  sftp.on('REMOVE', (id, path) => done(id, 'REMOVE', path, () => unlinkSync(whole(path))));
  sftp.on('RMDIR', (id, path) => done(id, undefined, path, () => rmdirSync(whole(path))));
  sftp.on('MKDIR', (id, path) => done(id, undefined, path, () => mkdirSync(whole(path))));
  sftp.on('RENAME', (id, from, to) =>
    act(id, 'RENAME', from, () => {
      if (lstatSync(whole(to), { throwIfNoEntry: false }) !== undefined) return void sftp.status(id, FAILURE);
      renameSync(whole(from), whole(to));
      sftp.status(id, OK);
    }),
  );
};

/**
 * A key pair for ssh2. Generated with Node: about one in 200 of the ed25519 keys that ssh2 generates is
 * malformed.
 */
const newHostKey = (): { readonly secret: string; readonly shown: string } => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const secret = privateKey.export({ type: 'sec1', format: 'pem' }).toString();
  const key = ssh2.utils.parseKey(secret);
  if (key instanceof Error) throw key;
  return { secret, shown: `${key.type} ${key.getPublicSSH().toString('base64')}` };
};

/** Starts a stub on a free port of this machine. */
export const startSftpStub = async (dialect: SftpDialect = {}): Promise<SftpStub> => {
  const data = mkdtempSync(join(tmpdir(), 'stowage-sftp-stub-'));
  const handles = new Map<number, Handle>();
  const sockets = new Set<Connection>();
  const hostKey = newHostKey();
  const server = new ssh2.Server({ hostKeys: [hostKey.secret] }, (client) => {
    sockets.add(client);
    if (sockets.size > (stub.dialect.most ?? Infinity)) client.end();
    client
      .on('error', () => undefined)
      .on('close', () => sockets.delete(client))
      .on('authentication', (context) => context.accept())
      .on('session', (accept) => {
        accept().on('sftp', (acceptSftp) => serve(acceptSftp(), stub, handles, () => client.end()));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const login = { host: '127.0.0.1', username: 'ann', password: 'pass-word-1', directory: data };
  const stub: SftpStub = {
    options: { ...login, port, hostKey: hostKey.shown },
    data,
    dialect,
    open: () => handles.size,
    close: async () => {
      for (const client of sockets) client.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(data, { recursive: true, force: true });
    },
  };
  return stub;
};
