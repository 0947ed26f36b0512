import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareOfDay } from '../before-release.ts';
import { createFolder, portOf, runToEnd, start, type Folder } from './service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

const good = (): object => ({
  extensions: ['png'],
  sources: { photos: { title: 'Photos', root: folder.path, baseurl: 'https://cdn.example.com/' } },
});

describe('stowage', () => {
  it('shows its commands and its version', async () => {
    const { version } = JSON.parse(await readFile('packages/stowage/package.json', 'utf8')) as {
      version: string;
    };
    const help = await runToEnd(['--help']);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    for (const word of [
      'serve',
      'check-config',
      '--config',
      '--host',
      '--port',
      'CONFIG_FILE',
      'Exit status',
    ]) {
      expect(help.stdout).toContain(word);
    }
    expect(await runToEnd(['serve', '-h'])).toMatchObject({ status: 0, stdout: help.stdout });
    expect(await runToEnd(['--version'])).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('shows its commands and ends with 2 when no command is given', async () => {
    const { stdout } = await runToEnd(['--help']);
    expect(await runToEnd([])).toEqual({ status: 2, signal: null, stdout: '', stderr: stdout });
  });

  it.each(
    shareOfDay(3, [
      [['sevre'], 'Unknown command: sevre'],
      [['serve', '--prot', '80'], "Unknown option '--prot'"],
      [['serve', 'photos', 'now'], 'Unexpected argument: now'],
      [['serve', ''], 'serve needs the name of a folder, not an empty text.'],
      [['serve', 'photos', '--config', 'a.json'], 'serve takes a folder or --config, not both.'],
      [['serve', '--port', '65536'], '--port must be a port number from 0 to 65535, not "65536".'],
      [['serve', '--port', '80x'], '--port must be a port number from 0 to 65535, not "80x".'],
      [['serve', '--config', ''], '--config needs the name of a file.'],
      [['serve', '--host', ''], '--host needs an address.'],
      [['check-config', '--port', '80'], 'check-config does not take --port.'],
      [['check-config', '--health-port', '80'], 'check-config does not take --health-port.'],
      [['serve', '--health-port', 'x'], '--health-port must be a port number from 0 to 65535, not "x".'],
      [['check-config', 'a'], 'Unexpected argument: a'],
      [['explain'], 'explain needs a role, an action and a path.'],
      [['explain', 'guest', 'files'], 'explain needs a role, an action and a path.'],
      [['explain', 'guest', 'files', '/', 'b'], 'Unexpected argument: b'],
      [['explain', 'guest', 'fileRemov', '/'], 'Unknown action: fileRemov'],
      [['explain', 'guest', 'FILE_DELETE', '/'], 'Unknown action: FILE_DELETE'],
      [['explain', 'guest', 'files', '../a'], 'The path "../a" leaves its source.'],
      [['explain', 'guest', 'files', '/', '--host', 'a'], 'explain does not take --host.'],
    ]),
  )('ends with 2 when it does not understand: %j', async (words, message) => {
    expect(await runToEnd(words)).toEqual({
      status: 2,
      signal: null,
      stdout: '',
      stderr: `${message}\nTry: stowage --help\n`,
    });
  });

  it('ends with 2 for a PORT that is not a port', async () => {
    expect(await runToEnd(['serve'], { PORT: 'http' })).toMatchObject({
      status: 2,
      stderr: 'PORT must be a port number from 0 to 65535, not "http".\nTry: stowage --help\n',
    });
  });
});

describe.each(['check-config', 'serve'])('stowage %s', (command) => {
  it('ends with 1 and every problem of the configuration', async () => {
    const sources = { photos: { title: 'Photos', root: '/srv', baseurl: 'photos/', thumbSize: '250' } };
    const config = await folder.config({ qualty: 80, onlyPOST: 'yes', sources });
    expect(await runToEnd([command, '--config', config])).toEqual({
      status: 1,
      signal: null,
      stdout: '',
      stderr: [
        'The configuration is not valid:',
        '  - onlyPOST: must be true or false, not the text "yes"',
        '  - qualty: is not a known key; did you mean "quality"?',
        '  - sources.photos.baseurl: must be an absolute http or https URL such as https://cdn.example.com/files/, or a path such as /files/, not the text "photos/"',
        '  - sources.photos.thumbSize: must be a whole number, not the text "250"',
        '',
      ].join('\n'),
    });
  });

  it.each([
    ['a file that is not there', 'nothing.json', /nothing\.json: cannot be read: there is no such file/u],
    ['a directory', '.', /\.: cannot be read: it is a directory/u],
  ])('ends with 1 for %s', async (_case, file, message) => {
    const { status, stderr } = await runToEnd([command, '--config', file]);
    expect(stderr).toMatch(message);
    expect(status).toBe(1);
  });

  it('ends with 1 for broken JSON, and names the place without repeating the text', async () => {
    const file = await folder.config('{\n  "title": "secret"\n  "debug": true\n}');
    const broken = await runToEnd([command, '--config', file]);
    expect(broken.status).toBe(1);
    expect(broken.stderr).toMatch(/config-.*\.json: is not valid JSON \(line 3, column 3\): /u);
    expect(broken.stderr).not.toContain('secret');
    const scalar = await runToEnd([command], { CONFIG: 'secret' });
    expect(scalar.stderr).toMatch(/CONFIG: is not valid JSON/u);
    expect(scalar.stderr).not.toContain('secret');
    // Long enough that what Node quotes of it is cut at both ends.
    const long = `{"title":"${'x'.repeat(50)}","password":secret,"debug":true,"quality":90}`;
    const unquoted = await runToEnd([command], { CONFIG: long });
    expect(unquoted.stderr).toMatch(/CONFIG: is not valid JSON.*: Unexpected token/u);
    expect(unquoted.stderr).not.toContain('secret');
  });
});

describe('the configuration', () => {
  it('is taken from --config, else CONFIG, else CONFIG_FILE, else the defaults', async () => {
    const config = await folder.config(good());
    const bad = await folder.config({ fromFile: 1 });
    const text = JSON.stringify({ fromText: 1 });
    const everywhere = { CONFIG: text, CONFIG_FILE: bad };
    expect(await runToEnd(['check-config', '--config', config], everywhere)).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect((await runToEnd(['check-config'], everywhere)).stderr).toContain('fromText: is not a known key');
    expect((await runToEnd(['check-config'], { CONFIG: '', CONFIG_FILE: bad })).stderr).toContain('fromFile');
    expect((await runToEnd(['check-config'])).stdout).toContain('The configuration is valid.');
  });

  it('has no key twice, of which JSON would keep the last alone', async () => {
    const rules = '{\n  "accessControl": [{ "CHANGE": false }], "title": "{", "pdf": { "title": "\\"" },';
    const file = await folder.config(`${rules}\n  "accessControl": []\n}`);
    const { status, stderr } = await runToEnd(['check-config', '--config', file]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/\(line 3, column 3\): an object has the same key twice/u);
  });

  it('is UTF-8, which may begin with a byte order mark', async () => {
    const file = join(folder.path, 'marked.json');
    await writeFile(file, `\uFEFF${JSON.stringify(good())}`);
    expect(await runToEnd(['check-config', '--config', file])).toMatchObject({ status: 0 });
    await writeFile(file, Buffer.from(JSON.stringify({ ...good(), title: 'Büro' }), 'latin1'));
    const { status, stderr } = await runToEnd(['check-config', '--config', file]);
    expect(status).toBe(1);
    expect(stderr).toContain(`${file}: cannot be read: The encoded data was not valid for encoding utf-8`);
  });

  it('is checked without making or opening anything', async () => {
    const root = join(folder.path, 'not-yet', 'photos');
    const sources = { photos: { title: 'Photos', root, baseurl: 'https://cdn.example.com/' } };
    const config = await folder.config({ sources });
    expect(await runToEnd(['check-config', '--config', config])).toMatchObject({ status: 0, stderr: '' });
    expect(await readdir(folder.path)).not.toContain('not-yet');
  });

  it('is checked with its warnings told', async () => {
    const { stdout, status } = await runToEnd(['check-config']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Note: source "default": the extensions allow html, htm, js, xml\./mu);
    expect(stdout).toMatch(/The configuration is valid\.\n$/u);
  });
});

describe('stowage serve', () => {
  it('listens where --host and --port say, else HOST and PORT', async () => {
    const config = await folder.config(good());
    for (const [words, environment] of [
      [['--host', '127.0.0.1', '--port', '0'], { HOST: '203.0.113.1', PORT: '1' }],
      [[], { HOST: '127.0.0.1', PORT: '0' }],
      [['--port', '0'], {}],
    ] as const) {
      const service = start(['serve', '--config', config, ...words], environment);
      const port = await portOf(service);
      const answer = await fetch(`http://127.0.0.1:${String(port)}/ping`);
      expect(await answer.json()).toEqual({ success: true });
      service.child.kill('SIGTERM');
      expect((await service.ended).status).toBe(0);
    }
  });

  it('serves the source of the environment when there is no configuration', async () => {
    await writeFile(join(folder.path, 'hello.txt'), 'hello');
    const environment = {
      PORT: '0',
      SOURCE_ROOT: folder.path,
      SOURCE_NAME: 'Team',
      SOURCE_BASEURL: 'https://cdn.example.com',
    };
    const service = start(['serve'], environment);
    const answer = await fetch(`http://127.0.0.1:${String(await portOf(service))}/files`);
    expect(await answer.json()).toMatchObject({
      success: true,
      data: { sources: [{ name: 'default', title: 'Team', baseurl: 'https://cdn.example.com/' }] },
    });
    service.child.kill('SIGINT');
    expect((await service.ended).status).toBe(0);
  });

  it('ends with 1 and a plain message when the port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const config = await folder.config(good());
    const { status, stderr } = await runToEnd(['serve', '--config', config, '--port', String(port)]);
    taken.close();
    expect(status).toBe(1);
    expect(stderr.split('\n').at(-2)).toBe(
      `Cannot listen on 127.0.0.1 port ${String(port)}: the port is in use by another process.`,
    );
  });

  it.each([
    [
      '203.0.113.1',
      '0',
      /Cannot listen on 203\.0\.113\.1 port 0: this machine does not have that address\.\n$/u,
    ],
    // Addresses of this kind need the name of a network interface; the kind itself may be switched off.
    ['fe80::1', '0', /Cannot listen on fe80::1 port 0: [^\n]+\.\n$/u],
    ['[::1]', '1', /Cannot listen on \[::1\] port 1: the host name [^\n]+\.\n$/u],
  ])(
    'ends with 1 and a plain message when the machine has no such address: %s',
    async (host, port, message) => {
      const { status, stderr } = await runToEnd(['serve', folder.path, '--host', host, '--port', port]);
      expect(status).toBe(1);
      expect(stderr).toMatch(message);
    },
  );
});
