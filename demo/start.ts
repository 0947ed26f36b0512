import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startDemo, type Demo } from './start-demo.ts';

const usage = `Starts the connector and a page with an editor that uses it.

  --port N        port of the connector (PORT, default 8081)
  --page-port N   port of the page (PAGE_PORT, default 8080); 0 takes a free port
  --host ADDRESS  address to listen on (HOST, default 127.0.0.1)
  --data FOLDER   folder of the files (default demo/data)
`;

/** A wrong flag or port: told in one line, without a stack. */
class UsageError extends Error {}

const portOf = (flag: string, text: string): number => {
  const port = Number(text);
  if (/^\d{1,5}$/u.test(text) && port <= 65_535) return port;
  throw new UsageError(`${flag} must be a port number from 0 to 65535, not "${text}".`);
};

const readFlags = (): ReturnType<typeof parse>['values'] => {
  try {
    return parse().values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
};

const parse = () =>
  parseArgs({
    options: {
      port: { type: 'string', default: process.env['PORT'] ?? '8081' },
      'page-port': { type: 'string', default: process.env['PAGE_PORT'] ?? '8080' },
      host: { type: 'string', default: process.env['HOST'] ?? '127.0.0.1' },
      data: { type: 'string', default: fileURLToPath(new URL('./data', import.meta.url)) },
      help: { type: 'boolean', default: false },
    },
  });

const start = async (): Promise<Demo | undefined> => {
  const flags = readFlags();
  if (flags.help) {
    process.stdout.write(usage);
    return undefined;
  }
  return startDemo({
    connectorPort: portOf('--port', flags.port),
    pagePort: portOf('--page-port', flags['page-port']),
    host: flags.host,
    dataDir: path.resolve(flags.data),
  });
};

const stopOnSignals = (demo: Demo): void => {
  let asked: number | undefined;
  const stop = (): void => {
    // Ctrl+C in a terminal comes twice, from the terminal and handed on by npm; who asks again later is out
    // of patience.
    if (asked !== undefined) {
      if (performance.now() - asked > 1000) process.exit(130);
      return;
    }
    asked = performance.now();
    demo.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
};

const fail = (error: unknown): never => {
  const message = error instanceof Error ? error.message : String(error);
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const hint = taken ? ' Choose other ports with --port and --page-port.' : '';
  process.stderr.write(`The demo cannot start: ${message}${hint}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
};

try {
  const demo = await start();
  if (demo !== undefined) {
    stopOnSignals(demo);
    process.stdout.write(`Demo page: ${demo.pageUrl}  (connector: ${demo.connectorUrl}; stop with Ctrl+C)\n`);
  }
} catch (error) {
  fail(error);
}
