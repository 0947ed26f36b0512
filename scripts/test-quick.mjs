/**
 * `npm run test:quick`: the most informative checks of a change within two minutes: tests without servers,
 * browsers, waiting and many pictures, and in parallel types and lint of the sources. Arguments are passed to
 * vitest.
 */
import { installDependencies } from './setup/dependencies.mjs';
import { npm, npmAside, orFail } from './setup/process.mjs';

const TESTS = [
  ...[
    'test/access',
    'test/config',
    'test/http',
    'test/protocol',
    'test/security/paths',
    'test/security/names',
  ],
  'test/adapters/local.test.ts',
];

const LEFT_OUT = [
  'test/http/{bodies,slow-clients,fastify,http2,mounting,rate-limits,tus,ended-by-host,prefixes,parsed-bodies,web-request}*',
  'test/protocol/{files-details,generate,image,listing-stores,thumbnails,trash-purge,tus,upload-heic,upload-images,webdav,zip}*',
  'test/protocol/{describe-picture,editor-answers,file-describe,inspection,listing-visibility,quotas,upload-texts}*',
];

await installDependencies();
orFail(await npm(['run', '--silent', 'build']), 'The build failed.');
const checking = npmAside(['run', '--silent', 'check:code']);
const excluded = LEFT_OUT.flatMap((pattern) => ['--exclude', pattern]);
const tested = await npm(['exec', '--', 'vitest', 'run', ...TESTS, ...excluded, ...process.argv.slice(2)]);
const { status, output } = await checking;
process.stdout.write(`\nTypes and lint: ${status === 0 ? 'nothing found' : ''}\n${output}`);
orFail(status, 'Types or lint failed.');
orFail(tested, 'Tests failed.');
