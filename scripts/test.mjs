/**
 * `npm test`: from a fresh clone to the result of all checks and tests, on both lines of Node. Missing
 * programs are installed if permitted; otherwise the skipped tests are named. Tests that exercise browsers
 * and other programs more than Node run only on the first Node. Arguments are passed to vitest; with
 * arguments nothing is left out. The last line has the counts.
 */
import { installPackages } from './setup/debian-packages.mjs';
import { installDependencies } from './setup/dependencies.mjs';
import { fetchNodes, nodesToTest } from './setup/other-node.mjs';
import { npm, npmAside } from './setup/process.mjs';
import { startTests } from './setup/vitest.mjs';

/**
 * Tests that exercise browsers, stores, image libraries and other programs more than Node itself, or code
 * that does not depend on the version of Node: they run on one Node, to save minutes. On the other Node run,
 * at the same time, the tests of the HTTP layer, bridges, package, configuration and local disk.
 */
const ONCE = [
  'test/adapters/{azure,gcs}*.test.ts',
  'test/{basics,changes,client,docs,documents,interface,model,network,operations,pictures,protocol}/**',
  'test/{robustness,security,serving,sources,start}/**',
  'test/adapters/{s3,sftp-,ftp-,path-,webdav-,local-,across-,remote-,shared-,trash-,tus-,memory,example,conformance}*.test.ts',
  'test/adapters/{action,store}-costs.test.ts',
  'test/cli/{commands,describe,doctor-*,explain,init,thumbs}.test.ts',
  'test/config/**',
  'test/package/types.test.ts',
  'test/http/{access,languages,rate-limits}.test.ts',
];

/**
 * Tests that run before a release only, to save minutes: of further servers, editors, proxies, systems and
 * compilers, and of rarer situations in the picker and on the command line. Single cases are left out by
 * `test/before-release.ts`.
 */
const BEFORE_RELEASE = [
  'test/adapters/{ftp-others,gcs-machine-login,local-other-systems,local-variants,s3-dialects,s3-unlike-aws}.test.ts',
  'test/adapters/{sftp-proftpd,sftp-rclone}.test.ts',
  'test/adapters/webdav-{dialects,lighttpd,nginx,rclone,sabredav}.test.ts',
  'test/client/{documents,editors,jodit-large,jodit-pages,photos,s3-source,transfer-proxies,webdav-source}.test.ts',
  'test/client/picker-{content,keyboard,late,looks,names,troubles}.test.ts',
  'test/cli/{describe,init,thumbs}.test.ts',
  'test/docs/{apache-serving,caching-proxy,nginx*,samples}.test.ts',
  'test/documents/docx-rendered.test.ts',
  'test/model/{interleaved,links}.test.ts',
  'test/package/types.test.ts',
  'test/robustness/mixed-kill.test.ts',
  'test/security/picture-location-kinds.test.ts',
];

/** As above, on the other Node. */
const BEFORE_RELEASE_ONCE = ['test/adapters/local.test.ts', 'test/cli/**', 'test/package/**'];

const programs = Promise.all([installPackages(), fetchNodes()]);
await installDependencies();
const isRelease = process.env.STOWAGE_ALL_SERVERS === '1';
if (isRelease) await installDependencies('test/client/editors');

process.stdout.write('\nBuild\n');
const built = (await npm(['run', '--silent', 'build'])) === 0;
// Programs are unpacked, and tests wait for servers and browsers: the checks use that time, and are printed
// after the tests.
const checking = npmAside(['run', '--silent', 'check:built']);

const [leftOut] = await programs;
const { nodes, failed: missingNodes } = nodesToTest();

const chosen = process.argv.slice(2);
const isWhole = chosen.length === 0;
if (!isRelease)
  leftOut.push(
    `Left out: cases of further servers and programs${isWhole ? `, and ${BEFORE_RELEASE.join(', ')}` : ''}; STOWAGE_ALL_SERVERS=1 runs them`,
  );

const runs = nodes.map((node, index) => {
  const once = index > 0 && isWhole ? [...ONCE, ...(isRelease ? [] : BEFORE_RELEASE_ONCE)] : [];
  if (once.length > 0)
    leftOut.push(`Left out on ${node.version}, run on ${nodes[0].version}: ${once.join(', ')}`);
  const without = isWhole && !isRelease ? [...once, ...BEFORE_RELEASE] : once;
  const args = [...chosen, ...without.flatMap((pattern) => ['--exclude', pattern])];
  return { node, ...startTests(node, args, { isAside: index > 0 }) };
});
// What is run once more, alone, waits until both have ended.
await Promise.all(runs.map(({ ended }) => ended));
const results = [];
for (const { node, result } of runs) results.push({ node, ...(await result()) });

const { status, output } = await checking;
process.stdout.write(`\nChecks: types, lint, rooms, format, generated files\n${output}`);
const checked = built && status === 0;

const sum = (key) => results.reduce((total, result) => total + result[key], 0);
// The checks are not tests; if they fail they count as one failure, so that the last line never looks better
// than the run.
const failed = sum('failed') + (checked ? 0 : 1);

process.stdout.write('\n');
for (const { node, skippedTests } of results) {
  for (const title of skippedTests) process.stdout.write(`skipped on ${node.version}: ${title}\n`);
}
for (const line of [...leftOut, ...missingNodes]) process.stdout.write(`${line}\n`);
for (const { node, failures, onlyAlone } of results) {
  for (const failure of onlyAlone) process.stdout.write(`passed only alone on ${node.version}: ${failure}\n`);
  for (const failure of failures) process.stdout.write(`FAILED on ${node.version}: ${failure}\n`);
}
for (const { node, passed, failed: wrong, skipped } of results) {
  process.stdout.write(`Node ${node.version}: ${passed} passed, ${wrong} failed, ${skipped} skipped\n`);
}
if (!checked) process.stdout.write('The checks failed; see above. They count as one failure.\n');
process.stdout.write(`${sum('passed')} passed, ${failed} failed, ${sum('skipped')} skipped\n`);
process.exitCode = failed === 0 && sum('passed') > 0 ? 0 : 1;
