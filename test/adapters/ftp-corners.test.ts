import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SourcePath } from 'stowage/storage';
import { createClient } from 'stowage/client';
import { createApp } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runsEverything } from '../before-release.ts';
import type { FtpAdapter } from '../../packages/stowage/dist/adapters/remote/ftp/adapter.js';
import { silent } from '../protocol/service.ts';
import { openFtpStore } from '../../tools/test-servers/ftp.ts';
import {
  startFtpStub,
  type FtpStub,
  type Script,
  type StubOptions,
} from '../../tools/test-servers/ftp-stub.ts';

const at = (text: string): SourcePath => SourcePath.parse(text);
const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });
const login = { username: 'ann', password: 'pass-word-1' };

const codeOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => undefined,
    (error: unknown) => (error as { code?: unknown }).code,
  );

const start = async (
  stubOptions: StubOptions = {},
  options: object = {},
): Promise<{ readonly stub: FtpStub; readonly store: FtpAdapter }> => {
  const stub = await startFtpStub(stubOptions);
  const host = stubOptions.address ?? '127.0.0.1';
  const store = openFtpStore({ options: { host, port: stub.port, ...login } }, { timeout: 2, ...options });
  onTestFinished(() => stub.close());
  onTestFinished(() => store.close());
  return { stub, store };
};

const namesIn = async (store: FtpAdapter): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const page of store.list(SourcePath.root)) names.push(...page.map(({ name }) => name));
  return names.sort();
};

const LISTED = 'type=file;size=3;modify=20260101000000; a.txt\r\n';
const factsOf = (size: number): string =>
  `250-here\r\n type=file;size=${String(size)};modify=20260101000000; x\r\n250 end`;

/** Answers of a server that keeps names and lengths, and whose rename never replaces. */
const keeping = (files: Map<string, number>): Script => {
  let from = '';
  return (verb, path) => {
    const size = files.get(path);
    if (verb === 'MLST') return size === undefined ? '550 nothing' : factsOf(size);
    if (verb === 'STOR') files.set(path, 3);
    if (verb === 'DELE') return files.delete(path) ? '250 gone' : '550 nothing';
    if (verb === 'RNFR') {
      from = path;
      return size === undefined ? '550 nothing' : '350 and now';
    }
    if (verb !== 'RNTO') return undefined;
    if (size !== undefined) return '553 taken';
    files.set(path, files.get(from) ?? 0);
    files.delete(from);
    return '250 moved';
  };
};

describe('a file that is replaced on a server whose rename refuses that', () => {
  const OLD = 77;
  // 1: refused; 2: the old file goes aside; 3: the new one gets its name.
  const cases = [2, 3].flatMap((step) => ['before', 'after'].map((moment) => ({ step, moment }) as const));

  it.each(cases)(
    'is the old or the new one when the connection is lost $moment rename $step',
    async ({ step, moment }) => {
      const files = new Map([['/a.txt', OLD]]);
      const answer = keeping(files);
      let renames = 0;
      const { store, stub } = await start({
        script: (verb, path) => {
          if (verb === 'RNTO') renames += 1;
          if (verb !== 'RNTO' || renames !== step) return answer(verb, path);
          if (moment === 'after') answer(verb, path);
          stub.hangUp();
          return null;
        },
      });
      expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('STORAGE_UNAVAILABLE');
      expect([...files]).toEqual([['/a.txt', step === 3 && moment === 'after' ? 3 : OLD]]);
    },
  );

  it('comes back as soon as the server can be reached again', async () => {
    const files = new Map([['/a.txt', OLD]]);
    const answer = keeping(files);
    let [renames, isDown] = [0, false];
    const { store, stub } = await start({
      script: (verb, path) => {
        if (verb === 'RNTO') isDown ||= (renames += 1) === 3;
        if (!isDown) return answer(verb, path);
        stub.hangUp();
        return null;
      },
    });
    expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('STORAGE_UNAVAILABLE');
    expect(files.has('/a.txt')).toBe(false);
    isDown = false;
    await expect
      .poll(async () => [await codeOf(store.stat(at('a.txt'))), ...files])
      .toEqual([undefined, ['/a.txt', OLD]]);
  });

  it('stays where it is when another file has got its name meanwhile', async () => {
    const files = new Map([['/a.txt', OLD]]);
    const answer = keeping(files);
    let renames = 0;
    const { store, stub } = await start({
      script: (verb, path) => {
        if (verb !== 'RNTO' || (renames += 1) !== 3) return answer(verb, path);
        files.set('/a.txt', 55);
        stub.hangUp();
        return null;
      },
    });
    expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('STORAGE_UNAVAILABLE');
    expect(files.get('/a.txt')).toBe(55);
    expect([...files.values()]).toContain(OLD);
  });
});

it('a file on an FTP server that is falsely said to be missing is not replaced by a new one', async () => {
  const { store, stub } = await start({
    script: (verb, path) => {
      if (verb === 'SIZE' && path === '/a.txt') return '213 77';
      return verb === 'MLST' && path !== '/a.txt' ? factsOf(3) : undefined;
    },
  });
  expect(await codeOf(store.write(at('a.txt'), contentOf('new'), { createOnly: true }))).toBe(
    'ALREADY_EXISTS',
  );
  expect(stub.heard).not.toContain('RNTO /a.txt');
});

it('reads on an FTP server work again after an outage, however many have failed', async () => {
  let isDown = true;
  const { store } = await start(
    {
      content: Buffer.from('abc'),
      script: (verb, path) => {
        if (isDown && verb === 'USER') return '421 too many';
        return verb === 'MLST' && path === '/a.txt' ? factsOf(3) : undefined;
      },
    },
    { connections: 3 },
  );
  for (let time = 0; time < 100; time += 1)
    expect(await codeOf(store.read(at('a.txt')))).toBe('STORAGE_UNAVAILABLE');
  isDown = false;
  expect((await buffer((await store.read(at('a.txt'))).stream)).toString()).toBe('abc');
});

describe('a file on an FTP server of which more or less arrives than was reported', () => {
  const startWith = async (sizes: {
    readonly before: number;
    readonly after: number;
    readonly sent: number;
  }) => {
    let isSent = false;
    const { store } = await start(
      {
        content: Buffer.alloc(sizes.sent, 'x'),
        script: (verb, path) => {
          isSent ||= verb === 'RETR';
          return verb === 'MLST' && path === '/a.txt'
            ? factsOf(isSent ? sizes.after : sizes.before)
            : undefined;
        },
      },
      { connections: 1 },
    );
    return store;
  };

  it.each([3, 90_000])('has changed where it has that length by now: %i bytes', async (size) => {
    const store = await startWith({ before: 500, after: size, sent: size });
    expect(await codeOf(store.read(at('a.txt')).then(({ stream }) => buffer(stream)))).toBe(
      'CHANGED_MEANWHILE',
    );
    expect((await buffer((await store.read(at('a.txt'))).stream)).length).toBe(size);
  });

  it('is corrupt where the server reports what it has reported before', async () => {
    const store = await startWith({ before: 500, after: 500, sent: 3 });
    expect(await codeOf(store.read(at('a.txt')).then(({ stream }) => buffer(stream)))).toBe('CORRUPT');
  });
});

describe('an FTP server', () => {
  it('is reached by IPv6, by EPSV and without', async () => {
    for (const refused of ['', 'EPSV']) {
      let port = 0;
      const { store, stub } = await start({
        address: '::1',
        listing: LISTED,
        script: (verb) => {
          if (verb === refused) return '502 no';
          return verb === 'PASV' ? `227 go (0,0,0,0,${String(port >> 8)},${String(port & 255)})` : undefined;
        },
      });
      port = stub.dataPort();
      expect(await namesIn(store)).toEqual(['a.txt']);
    }
  });

  it.each(['502 no', '451 not permitted', '350 yes'])(
    'that answers %s to REST gives the same part of a file',
    async (answer) => {
      const { store, stub } = await start({
        // An honest one sends from there on.
        content: Buffer.from(answer.startsWith('350') ? 'wage' : 'stowage'),
        script: (verb) => (verb === 'MLST' ? factsOf(7) : verb === 'REST' ? answer : undefined),
      });
      const { stream } = await store.read(at('a.txt'), { range: { start: 3, end: 5 } });
      expect((await buffer(stream)).toString()).toBe('wag');
      expect(stub.heard).toContain('REST 3');
    },
  );

  it.each(['521 there', '550 there', '553 there'])(
    'that answers MKD with %s has the folder',
    async (answer) => {
      let isThere = false;
      const { store } = await start({
        script: (verb) => {
          // Somebody has made it between the look and the command.
          isThere ||= verb === 'MKD';
          if (verb === 'MKD') return answer;
          return verb === 'MLST' && isThere ? '250-here\r\n type=dir; /new\r\n250 end' : undefined;
        },
      });
      expect(await codeOf(store.makeFolder(at('new')))).toBe('ALREADY_EXISTS');
    },
  );

  it.each(['"/a "q" b" is it', '"/a ""q"" b" is "it"'])('that calls a folder %s has it', async (called) => {
    let folder = '/';
    const { store } = await start({
      script: (verb, path) => {
        if (verb === 'CWD') folder = path;
        if (verb === 'MLST') return '250-here\r\n type=dir; x\r\n250 end';
        return verb === 'PWD' && folder.includes('q') ? `257 ${called}` : undefined;
      },
    });
    expect(await store.stat(at('a "q" b'))).toMatchObject({ kind: 'folder' });
  });

  it('that takes fewer connections than are configured serves all that ask', async () => {
    const { store, stub } = await start({ listing: LISTED, most: 2 }, { connections: 4 });
    const lists = await Promise.all(Array.from({ length: 12 }, () => namesIn(store)));
    expect(new Set(lists.flat())).toEqual(new Set(['a.txt']));
    expect(stub.made()).toBeLessThanOrEqual(4);
  });

  it.skipIf(process.platform !== 'linux')(
    'is told every minute that the connection is in use, also while a transfer leaves it silent',
    async () => {
      const { store, stub } = await start({ listing: LISTED });
      await namesIn(store);
      const port = stub.port.toString(16).toUpperCase().padStart(4, '0');
      // Remote port; state 01, open; timer 02, of keepalive, with its time in hundredths of a second.
      const timer = new RegExp(`:${port} 01 \\S+ 02:([0-9A-F]+)`, 'u').exec(
        await readFile('/proc/net/tcp', 'utf8'),
      );
      expect(parseInt(timer?.[1] ?? 'FFFFFFFF', 16)).toBeLessThanOrEqual(6000);
    },
  );

  it('that takes no connection at all is said to refuse it', async () => {
    const { store } = await start({ most: 0 }, { connections: 4 });
    const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(namesIn(store))));
    expect(new Set(codes)).toEqual(new Set(['STORAGE_UNAVAILABLE']));
  });

  it.runIf(runsEverything)('with a listing of more than is kept of one is listed whole', async () => {
    const names = Array.from({ length: 200_000 }, (_, index) => `${String(index)}-${'x'.repeat(60)}.txt`);
    const lines = names.map((name) => `type=file;size=3;modify=20260101000000; ${name}\r\n`);
    const { store } = await start({ listing: lines.join('') }, { connections: 1, timeout: 20 });
    expect(lines.join('').length).toBeGreaterThan(16 * 1024 * 1024);
    expect((await namesIn(store)).length).toBe(names.length);
  });
});

describe('LIST of the ftp adapter', () => {
  const withoutFacts: Script = (verb) =>
    ['MLSD', 'MLST', 'FEAT', 'OPTS'].includes(verb) ? '500 what?' : undefined;

  it.each([
    [
      'as of IIS',
      '02-14-26  09:00AM       <DIR>          a b\r\n02-14-2026  09:00AM            1234 -ü.txt\r\n',
    ],
    [
      'as of ls',
      'total 8\r\ndrwxr-xr-x   2 owner group 0 Feb 14 09:00 a b\r\n-rw-r--r--   1 owner group 1234 Feb 14  2025 -ü.txt\r\n',
    ],
  ])('%s: blanks, dashes and letters of UTF-8 in names, without OPTS UTF8', async (_form, listing) => {
    const { store } = await start({ listing, script: withoutFacts });
    expect(await namesIn(store)).toEqual(['-ü.txt', 'a b']);
    expect(await store.stat(at('-ü.txt'))).toMatchObject({ kind: 'file', size: 1234 });
    expect(await store.stat(at('a b'))).toMatchObject({ kind: 'folder' });
  });

  it.each(['450 No files found', '550 No members found.'])('%s: the folder is empty', async (refusal) => {
    const { store } = await start({
      script: (verb) => withoutFacts(verb, '') ?? (verb === 'LIST' ? refusal : undefined),
    });
    expect(await namesIn(store)).toEqual([]);
  });

  it.each([
    ['a total in another language', 'insgesamt 8\r\n-rw-r--r-- 1 a b 3 Feb 14 09:00 a.txt\r\n', ['a.txt'], 0],
    ['nothing but that', 'insgesamt 0\r\n', [], 0],
    [
      'lines of other kinds',
      '02-14-26  09:00AM  3 a.txt\r\n02-14-26  09:00AM  <JUNCTION>  j [C:\\x]\r\nls: b: Permission denied\r\n',
      ['a.txt'],
      2,
    ],
  ])('%s: what is understood is listed', async (_what, listing, names, omitted) => {
    const { store } = await start({ listing, script: withoutFacts });
    let count = 0;
    const shown: string[] = [];
    for await (const page of store.list(SourcePath.root, { onOmitted: (more) => (count += more) }))
      shown.push(...page.map(({ name }) => name));
    expect([shown, count]).toEqual([names, omitted]);
  });

  it.each([
    ['stops at a number of entries', LISTED, '226-Options: -a\r\n226 Output truncated to 1 matches', 1],
    ['shows the folder itself as a folder', `type=dir; .\r\ntype=dir; ..\r\n${LISTED}`, '226 all', 0],
  ])(
    'or MLSD of a server that %s: only what is missing counts as left out',
    async (_what, listing, ending, left) => {
      const { store } = await start({ listing, ending });
      let omitted = 0;
      const shown: string[] = [];
      for await (const page of store.list(SourcePath.root, { onOmitted: (more) => (omitted += more) }))
        shown.push(...page.map(({ name }) => name));
      expect([shown, omitted]).toEqual([['a.txt'], left]);
    },
  );

  it('in a form that is not understood at all is an error', async () => {
    const { store } = await start({ listing: 'A.TXT;1  2/4  14-FEB-2026\r\n', script: withoutFacts });
    expect(await codeOf(namesIn(store))).toBe('STORAGE_UNAVAILABLE');
  });

  it('links are neither listed nor reached, hidden names as others', async () => {
    const listing =
      'drwxr-xr-x 2 a b 0 Feb 14 09:00 .\r\n-rw-r--r-- 1 a b 3 Feb 14 09:00 .hidden\r\nlrwxrwxrwx 1 a b 9 Feb 14 09:00 link -> /etc/passwd\r\n';
    const { store } = await start({ listing, script: withoutFacts });
    expect(await namesIn(store)).toEqual(['.hidden']);
    expect(await codeOf(store.read(at('link')))).toBe('NOT_FOUND');
    expect(await codeOf(store.write(at('link'), contentOf('new')))).toBe('WRONG_KIND');
  });
});

describe('a server without MLSD', () => {
  it('lists a folder once to move a file there, that of its new name', async () => {
    const files = new Set(['/in/a.txt', '/in/b.txt']);
    let [from, folder] = ['', '/'];
    const script: Script = (verb, path) => {
      const isFile = files.has(path);
      if (['MLSD', 'MLST', 'FEAT', 'OPTS'].includes(verb)) return '500 what?';
      if (verb === 'CWD') folder = path;
      if (verb === 'STAT')
        return isFile ? `213-here\r\n-rw-r--r-- 1 a b 3 Feb 14 09:00 ${path}\r\n213 end` : '550 nothing';
      if (verb === 'SIZE') return isFile ? '213 3' : '550 nothing';
      if (verb === 'RNFR') {
        from = path;
        return isFile ? '350 and now' : '550 nothing';
      }
      if (verb !== 'RNTO') return undefined;
      files.delete(from);
      files.add(path);
      return '250 moved';
    };
    const listing = (): string =>
      ['drwxr-xr-x 2 a b 0 Feb 14 09:00 in', 'drwxr-xr-x 2 a b 0 Feb 14 09:00 out']
        .concat(
          [...files].map((file) => (file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : 'other')),
        )
        .map((line) => (line.startsWith('d') ? line : `-rw-r--r-- 1 a b 3 Feb 14 09:00 ${line}`))
        .join('\r\n');
    const { store, stub } = await start({ script, listing });
    await store.moveFile(at('in/a.txt'), at('out/a.txt'), { createOnly: true });
    const before = stub.heard.length;
    await store.moveFile(at('in/b.txt'), at('out/b.txt'), { createOnly: true });
    expect([...files].sort()).toEqual(['/out/a.txt', '/out/b.txt']);
    expect(stub.heard.slice(before).filter((line) => line.startsWith('LIST'))).toHaveLength(1);
  });

  it('may tell the size of a file in words', async () => {
    for (const [stored, code] of [
      [0, undefined],
      [1, 'CORRUPT'],
    ] as const) {
      let name = 'other';
      const { store } = await start({
        listing: () => `-rw-r--r-- 1 a b ${String(stored)} Feb 14 09:00 ${name}\r\n`,
        script: (verb, path) => {
          if (verb === 'STOR') name = path.slice(1);
          if (['MLSD', 'MLST', 'FEAT', 'OPTS'].includes(verb)) return '500 what?';
          return verb === 'SIZE' ? '213 File status' : undefined;
        },
      });
      expect(await codeOf(store.write(at('empty.txt'), Readable.from([])))).toBe(code);
    }
  });
});

describe('a command that is too long for an FTP server', () => {
  const short: Script = (verb, path) => {
    if (verb.length + path.length > 60) return '500 Command too long.';
    if (verb === 'STAT') return `213-here\r\nlrwxrwxrwx 1 a b 4 Feb 14 09:00 ${path} -> x\r\n213 end`;
    return verb === 'MLST' && path === '/a.txt' ? factsOf(3) : undefined;
  };

  it('is refused as a name, and says nothing of the commands that the server knows', async () => {
    const { store, stub } = await start({ script: short, listing: LISTED });
    const long = 'n'.repeat(80);
    expect(await codeOf(store.stat(at(long)))).toBe('UNSAFE_NAME');
    expect(await codeOf(store.write(at(`${long}/a.txt`), contentOf('new')))).toBe('UNSAFE_NAME');
    expect(await namesIn(store)).toEqual(['a.txt']);
    expect(stub.heard).toContain('MLSD');
    expect(stub.heard.filter((line) => line.startsWith('LIST'))).toEqual([]);
    // Nor does it hide that something is a link.
    expect(await codeOf(store.stat(at('a.txt')))).toBe('NOT_FOUND');
  });
});

it('an FTP upload whose folder is moved meanwhile finds nothing at its path', async () => {
  const { store } = await start({ script: (verb) => (verb === 'MLST' ? '550 nothing' : undefined) });
  expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('NOT_FOUND');
});

describe('sources of one service on one FTP server', () => {
  it('lock each other out of a name, however their directories are spelled', async () => {
    const files = new Map<string, number>();
    const keep = keeping(files);
    let [looking, most] = [0, 0];
    // Between the look that a name is free and the rename that gives it nobody else may look.
    const script: Script = (verb, path) => {
      if (verb === 'CWD' && path === 'a') return '250 there';
      if (verb === 'PWD') return '257 "/a"';
      if (verb === 'RNFR') most = Math.max(most, (looking += 1));
      if (verb === 'RNTO') looking -= 1;
      return keep(verb, path);
    };
    const stub = await startFtpStub({ script });
    onTestFinished(() => stub.close());
    const ftp = { host: '127.0.0.1', port: stub.port, ...login };
    const spellings = ['/a', '/a/', 'a', '/a/./', '/b/../a'];
    const sources = Object.fromEntries(
      spellings.map((directory, index) => [
        `s${String(index)}`,
        { title: 'Files', serve: 'public', storageAdapter: 'ftp', ftp: { ...ftp, directory } } as const,
      ]),
    );
    // All want the same name: those that are numbered take others at the same time.
    const app = createApp({ saveSameFileNameStrategy: 'error', sources }, {}, { logger: silent });
    onTestFinished(() => app.close());
    const { port } = await app.listen(0, '127.0.0.1');
    const client = createClient({ url: `http://127.0.0.1:${String(port)}` });
    const uploads = Object.keys(sources).map((source) =>
      client.fileUpload({ source, files: [new File(['new'], 'one.txt')] }),
    );
    const settled = await Promise.allSettled(uploads);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect([...files.keys()]).toEqual(['/a/one.txt']);
    expect(most).toBe(1);
  });
});
