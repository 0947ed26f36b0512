import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { root, run } from './process.mjs';

const CRASHED = { passed: 0, failed: 1, skipped: 0, skippedTests: [] };

const readReport = async (file) => {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
};

const countsOf = (report) => {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const withStatus = (...states) => tests.filter(({ status }) => states.includes(status));
  // A file that cannot even be loaded has no tests, and still is a failure.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const skipped = withStatus('pending', 'skipped', 'todo', 'disabled');
  return {
    passed: withStatus('passed').length,
    failed: withStatus('failed').length + broken.length,
    skipped: skipped.length,
    skippedTests: skipped.map(({ fullName }) => fullName),
  };
};

/** Runs the tests on one Node and counts them. A run that ends without a report counts as one failure. */
export const runTests = async ({ binary, version, environment }, args) => {
  process.stdout.write(`\nTests on Node ${version}\n`);
  const report = join(root, '.cache', `tests-${version}.json`);
  await mkdir(join(root, '.cache'), { recursive: true });
  await rm(report, { force: true });
  const status = await run(
    binary,
    [
      join('node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ],
    environment,
  );
  const written = await readReport(report);
  if (written === undefined) return CRASHED;
  const counts = countsOf(written);
  // Errors outside of any test, such as an unhandled rejection, fail the run without failing a test.
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
};
