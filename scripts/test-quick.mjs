/**
 * `npm run test:quick`: the most informative checks of a change within two minutes: tests without servers,
 * browsers, waiting and many pictures, and in parallel types and lint of the sources. Arguments are passed to
 * vitest.
 */
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

orFail(await npm(['run', '--silent', 'build']), 'The build failed.');
// Each has one thread, and takes as long as the tests: with low priority, they would end long after them.
const checking = Promise.all(
  ['check:types', 'check:lint'].map((name) => npmAside(['run', '--silent', name], { isLow: false })),
);
const excluded = LEFT_OUT.flatMap((pattern) => ['--exclude', pattern]);
const tested = await npm(['exec', '--', 'vitest', 'run', ...TESTS, ...excluded, ...process.argv.slice(2)]);
const checks = await checking;
const output = checks.map((check) => check.output).join('');
const status = Math.max(...checks.map((check) => check.status));
process.stdout.write(`\nTypes and lint: ${status === 0 ? 'nothing found' : ''}\n${output}`);
orFail(status, 'Types or lint failed.');
orFail(tested, 'Tests failed.');
