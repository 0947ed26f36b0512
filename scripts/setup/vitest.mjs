import { mkdir, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root, run, runAside } from './process.mjs';

const CRASHED = {
  passed: 0,
  failed: 1,
  skipped: 0,
  skippedTests: [],
  failures: ['The tests ended without a report.'],
};

/** One worker: options of the command line do not reach the projects of a configuration. */
const inOneWorker = (node) => ({ ...node, environment: { ...node.environment, VITEST_MAX_WORKERS: '1' } });

const OUTSIDE = 'An error outside of any test; see above.';

const readReport = async (file) => {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
};

/** Runs vitest once. Without a report, because the run was aborted, `files` is undefined. */
const runOnce = async ({ binary, version, environment }, args, runProgram = run) => {
  const report = join(root, '.cache', `tests-${version}.json`);
  await mkdir(join(root, '.cache'), { recursive: true });
  await rm(report, { force: true });
  const status = await runProgram(
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
  return { status, files: (await readReport(report))?.testResults };
};

/** These tests provoke races on purpose: one that passes only at the second attempt has found a fault. */
const NO_SECOND_TRY = /^test\/(?:robustness|security|model)\//u;

const testsOf = (files, ...states) =>
  files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => states.includes(status));

const failedFiles = (files) => files.filter(({ status }) => status === 'failed');

/** One line per failure, so that the end of a long log shows the result. */
const failuresOf = (files) =>
  failedFiles(files).flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    const about = (title, text) => `${relative(root, name)}: ${title}: ${String(text).slice(0, 600)}`;
    // A file that cannot be loaded has no failed tests, but is a failure.
    return tests.length === 0
      ? [about('the file', message)]
      : tests.map(({ fullName, failureMessages }) => about(fullName, failureMessages.join('\n')));
  });

const countsOf = (files) => {
  const skipped = testsOf(files, 'pending', 'skipped', 'todo', 'disabled');
  const failures = failuresOf(files);
  return {
    passed: testsOf(files, 'passed').length,
    failed: failures.length,
    skipped: skipped.length,
    skippedTests: skipped.map(({ fullName }) => fullName),
    failures,
  };
};

/**
 * Counts the tests of a run. Files with a failure run once more, alone: a test that waits for real servers may
 * exceed its time on a busy machine. Tests that fail again are failures, and those that pass only then are in
 * `onlyAlone`; in `test/robustness`, `test/security` and `test/model` they are failures as well. A run that
 * ends without a report counts as one failure.
 */
const resultOf = async (node, { status, files }) => {
  if (files === undefined) return { ...CRASHED, onlyAlone: [] };

  const failed = failedFiles(files).map(({ name }) => name);
  if (failed.length === 0) {
    const counts = countsOf(files);
    // Errors outside of any test, such as an unhandled rejection, fail the run without failing a test.
    if (status !== 0) counts.failures.push(OUTSIDE);
    return { ...counts, failed: counts.failures.length, onlyAlone: [] };
  }

  process.stdout.write(`\nOnce more, alone, on Node ${node.version}: ${failed.join(', ')}\n`);
  const { status: statusAlone, files: alone } = await runOnce(inOneWorker(node), failed);
  if (alone === undefined)
    return { ...CRASHED, failures: [...failuresOf(files), ...CRASHED.failures], onlyAlone: [] };
  const counts = countsOf([...files.filter(({ name }) => !failed.includes(name)), ...alone]);
  const still = new Set(failedFiles(alone).map(({ name }) => name));
  const onlyAlone = failuresOf(files.filter(({ name }) => !still.has(name)));
  const found = onlyAlone.filter((failure) => NO_SECOND_TRY.test(failure));
  const outside = statusAlone !== 0 && still.size === 0 ? [OUTSIDE] : [];
  const failures = [
    ...counts.failures,
    ...outside,
    ...found.map((failure) => `at the first try: ${failure}`),
  ];
  return {
    ...counts,
    // Those of `found` are counted as failures.
    passed: counts.passed - found.length,
    failed: failures.length,
    failures,
    onlyAlone: onlyAlone.filter((failure) => !found.includes(failure)),
  };
};

/**
 * Starts the tests on one Node. `ended` resolves when they have run, `result` counts them. Aside, they have one
 * process, which works while others wait, and `result` prints their output in one piece.
 */
export const startTests = (node, args, { isAside = false } = {}) => {
  const title = `\nTests on Node ${node.version}\n`;
  if (!isAside) process.stdout.write(title);
  let output = '';
  const aside = async (...program) => {
    const { status, output: printed } = await runAside(...program);
    output = `${title}${printed}`;
    return status;
  };
  const ended = isAside ? runOnce(inOneWorker(node), args, aside) : runOnce(node, args);
  const result = async () => {
    const first = await ended;
    process.stdout.write(output);
    return resultOf(node, first);
  };
  return { ended, result };
};
