import { mkdir, writeFile } from 'node:fs/promises';
import { readOnly } from '../../config/access-rules.ts';
import { isThere } from '../../config/risks/source-risks.ts';
import type { ConfigInput } from '../../config/types.ts';
import { checkConfiguration } from '../../checked-configuration.ts';
import { ConfigError } from '../../errors/errors.ts';
import { StartError } from '../serve.ts';
import {
  type Answer,
  askStore,
  createQuestions,
  createSilence,
  NoAnswerError,
  type Questions,
} from './questions.ts';

const FILE = 'stowage.json';

const askWriters = async (ask: Questions): Promise<Answer> => {
  const who = await ask.choose('Who may upload and change files?', [
    { value: 'everybody', text: 'every client that reaches the service (it listens to this machine only)' },
    { value: 'proxy', text: 'whom a proxy before it names an editor (header X-Role)' },
    { value: 'token', text: 'who has a token (JWT) of a login service with the role editor' },
    { value: 'nobody', text: 'nobody' },
  ]);
  if (who === 'everybody') return { written: {}, steps: [] };
  if (who === 'nobody') return { written: { accessControl: [...readOnly] }, steps: [] };
  const accessControl = [...readOnly, { role: 'editor', CHANGE: true }];
  if (who === 'proxy')
    return { written: { auth: { header: 'X-Role', from: ['127.0.0.1', '::1'] }, accessControl }, steps: [] };
  const jwksUrl = await ask.text(
    'jwksUrl',
    'URL of its keys',
    'https://login.example.com/.well-known/jwks.json',
  );
  const audience = await ask.text('audience', 'Audience of the tokens', 'files');
  return {
    written: { auth: { jwt: { jwksUrl, audience } }, accessControl },
    steps: ['npm install jose'],
  };
};

/** @throws ConfigError for invalid answers; values that are still to be set or installed are not reported */
const requireValid = (config: object): void => {
  const complete: unknown = JSON.parse(JSON.stringify(config).replace(/\{"env":"\w+"\}/gu, '"later"'));
  try {
    checkConfiguration(complete as ConfigInput);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.problems.filter((problem) => !problem.includes('npm install'));
    if (problems.length > 0) throw new ConfigError(problems);
  }
};

const refusing = (what: string) => (error: unknown) => {
  throw new StartError(`${what}: ${error instanceof Error ? error.message : String(error)}`);
};

const askAll = async (ask: Questions) => {
  const { name, answer } = await askStore(ask);
  const writers = await askWriters(ask);
  const question = 'Origin of the pages with the editor, when it is another host or port';
  // Copied from a browser it has a slash.
  const page = (await ask.text('allowedOrigins', question, '')).replace(/\/$/u, '');
  const config = {
    $schema: './node_modules/stowage/config.schema.json',
    extensions: 'jpg jpeg png gif webp avif svg pdf txt csv zip mp4 mp3'.split(' '),
    maxUploadFileSize: '25mb',
    refuseCrossSite: true,
    ...(page === '' ? {} : { allowCrossOrigin: true, allowedOrigins: [page] }),
    ...writers.written,
    sources: { [name]: answer.written },
  };
  return { config, root: answer.written['root'], steps: [...answer.steps, ...writers.steps] };
};

/** Asks until all answers are valid. @throws ConfigError for a problem that no question is about */
const askValid = async (ask: Questions): ReturnType<typeof askAll> => {
  for (;;) {
    const answers = await askAll(ask);
    try {
      requireValid(answers.config);
      return answers;
    } catch (error) {
      if (!(error instanceof ConfigError) || !ask.forget(error.problems)) throw error;
    }
  }
};

const write = async (ask: Questions): Promise<readonly string[]> => {
  const { config, root, steps } = await askValid(ask);
  if (typeof root === 'string')
    await mkdir(root, { recursive: true }).catch(refusing(`The folder ${root} cannot be made`));
  // `wx` fails if another program has created it meanwhile.
  await writeFile(FILE, `${JSON.stringify(config, null, 2)}\n`, { flag: 'wx' }).catch(
    refusing(`${FILE} cannot be written`),
  );
  return steps;
};

/**
 * Asks for the settings and writes `stowage.json` into the working directory, and creates the folder of a
 * local source. An existing file is never overwritten. Returns the exit status.
 * @throws StartError, ConfigError for invalid answers
 */
export const writeConfiguration = async (isSilent: boolean): Promise<number> => {
  if (await isThere(FILE)) throw new StartError(`${FILE} is there already, and stays as it is.`);
  const ask = isSilent ? createSilence() : createQuestions();
  try {
    const steps = await write(ask);
    process.stdout.write(
      [
        `Written: ${FILE}. Next:`,
        '',
        ...steps.map((step) => `  ${step}`),
        `  npx stowage doctor --config ${FILE}`,
        `  npx stowage serve --config ${FILE}`,
        '',
      ].join('\n'),
    );
    return 0;
  } catch (error) {
    if (error instanceof NoAnswerError) throw new StartError('Nothing was written: not all was answered.');
    throw error;
  } finally {
    ask.close();
  }
};
