import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';

/** Returns the response to a command, undefined for the default one, or null for no response. */
export type Script = (verb: string, argument: string) => string | null | undefined;

/** Differences from a normal server. */
export interface StubOptions {
  readonly script?: Script;
  readonly greeting?: string;
  /** Data of LIST and MLSD. */
  readonly listing?: string | (() => string);
  /** Data of RETR. */
  readonly content?: Buffer;
  /** Reply at the end of transfers, instead of 226; '' closes the control connection. */
  readonly ending?: string;
  /** Resets the data connection of an upload at its first byte. */
  readonly resets?: boolean;
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** Sends replies byte by byte. */
  readonly dribbles?: boolean;
  /** Address to listen on. Default: 127.0.0.1. */
  readonly address?: string;
  /** Maximum number of concurrent sessions; further ones get 421. */
  readonly most?: number;
}

/** A scripted FTP server, with an empty root unless its script differs. */
export interface FtpStub {
  readonly port: number;
  /** All received lines, those in clear text and those over TLS. */
  readonly heard: string[];
  /** Number of open control connections, and of all accepted ones. */
  readonly open: () => number;
  readonly made: () => number;
  /** Port for data after PASV. */
  readonly dataPort: () => number;
  /** Closes all control connections, as servers do with idle ones. */
  readonly hangUp: () => void;
  /** Sends an unsolicited reply to all. */
  readonly say: (text: string) => void;
  readonly close: () => Promise<void>;
}

const listen = async (server: Server, address: string): Promise<number> => {
  server.listen(0, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** Whether the listing shows a folder at the path; without a listing every path is one. */
const isFolder = (listing: string, path: string): boolean => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folders = listing.split('\r\n').filter((line) => /^d|<DIR>|type=dir/u.test(line));
  return listing === '' || name === '' || folders.some((line) => line.endsWith(` ${name}`));
};

const ANSWERS: Readonly<Record<string, string>> = {
  USER: '331 password',
  PASS: '230 in',
  TYPE: '200 binary',
  OPTS: '200 yes',
  FEAT: '211-Features\r\n MLST type*;size*;modify*;\r\n211 end',
  PWD: '257 "/"',
  MLST: '550 nothing',
  PBSZ: '200 0',
  PROT: '200 private',
  STAT: '502 no',
  DELE: '250 gone',
  RMD: '250 gone',
  RNFR: '350 and now',
  RNTO: '250 moved',
};

export const startFtpStub = async (options: StubOptions = {}): Promise<FtpStub> => {
  const { script, greeting = '220 here', listing = '', content = Buffer.alloc(0), certificate } = options;
  const { address = '127.0.0.1', most = Number.POSITIVE_INFINITY } = options;
  const shown = (): string => (typeof listing === 'string' ? listing : listing());
  const sockets = new Set<Socket>();
  const heard: string[] = [];
  let made = 0;
  const data = createServer();
  const dataPort = await listen(data, address);

  const serve = (plain: Socket): void => {
    made += 1;
    let socket = plain;
    let folder = '/';
    sockets.add(plain);
    plain.setNoDelay(true);
    plain.on('close', () => sockets.delete(plain)).on('error', () => undefined);
    let saying = Promise.resolve();
    const dribble = async (text: string): Promise<void> => {
      for (const byte of Buffer.from(text)) {
        socket.write(Buffer.from([byte]));
        await setTimeout(1);
      }
    };
    const say = (text: string): void => {
      if (options.dribbles === true) saying = saying.then(() => dribble(`${text}\r\n`));
      else socket.write(`${text}\r\n`);
    };
    const finish = (usual: string): void => {
      if (options.ending === '') socket.destroy();
      else say(options.ending ?? usual);
    };
    let incoming: Promise<Socket> | undefined;
    const awaitData = (from: Server): void => {
      incoming = once(from, 'connection').then(([one]) => one as Socket);
      incoming.catch(() => undefined);
    };
    const offerData = async (): Promise<void> => {
      const own = createServer();
      const ownPort = await listen(own, address);
      awaitData(own);
      own.once('connection', () => own.close());
      say(`229 go (|||${String(ownPort)}|)`);
    };
    const sendData = async (bytes: Buffer | string): Promise<void> => {
      const to = await incoming;
      say('150 coming');
      to?.on('error', () => undefined).end(bytes, () => finish('226 all'));
    };
    const takeData = async (): Promise<void> => {
      const from = await incoming;
      say('150 go');
      from?.on('error', () => undefined).on('end', () => finish('226 stored'));
      if (options.resets === true)
        from?.once('data', () => {
          from.resetAndDestroy();
          finish('226 stored');
        });
      else from?.resume();
    };
    const secure = (): void => {
      say('234 go');
      socket.removeAllListeners('data');
      const context = createSecureContext(certificate);
      socket = new TLSSocket(socket, { isServer: true, secureContext: context });
      socket.on('error', () => undefined);
      hear();
    };
    const act = (verb: string, argument: string): void => {
      if (verb === 'PASV') awaitData(data);
      const scripted = script?.(verb, argument);
      if (scripted === null) return;
      if (scripted !== undefined) return say(scripted);
      if (verb === 'CWD' && !isFolder(shown(), argument)) return say('550 no folder');
      if (verb === 'CWD') {
        folder = argument;
        return say('250 there');
      }
      if (verb === 'PWD') return say(`257 "${folder}"`);
      if (verb === 'AUTH' && certificate !== undefined) return secure();
      if (verb === 'EPSV') return void offerData();
      if (verb === 'MLSD' || verb === 'LIST') return void sendData(shown());
      if (verb === 'RETR') return void sendData(content);
      if (verb === 'STOR') return void takeData();
      say(ANSWERS[verb] ?? '502 what?');
    };
    const hear = (): void => {
      let rest = '';
      socket.on('data', (chunk: Buffer) => {
        rest += chunk.toString();
        const lines = rest.split('\r\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          heard.push(line);
          const [verb = ''] = line.split(' ', 1);
          act(verb, line.slice(verb.length + 1));
        }
      });
    };
    hear();
    if (sockets.size > most) socket.end('421 too many\r\n');
    else say(greeting);
  };
  const server = createServer(serve);
  const port = await listen(server, address);
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    heard,
    open: () => sockets.size,
    made: () => made,
    dataPort: () => dataPort,
    hangUp,
    say: (text) => {
      for (const socket of sockets) socket.write(text);
    },
    close: async () => {
      hangUp();
      const closed = [server, data].map((one) => once(one, 'close'));
      server.close();
      data.close();
      await Promise.all(closed);
    },
  };
};
