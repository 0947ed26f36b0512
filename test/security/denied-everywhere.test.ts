import { unzipSync } from 'fflate';
import type { AccessRule } from 'stowage';
import { describe, expect, it } from 'vitest';
import { accessKeyOf, checkConfiguration, createActions, explain, neededKeys, ruleKeysOf } from '#internals';
import { runsEverything } from '../before-release.ts';
import { doorsOf, form, type Door } from './doors.ts';
import {
  declaredParameters,
  requestsFor,
  sayableParameters,
  valuesFor,
  type Parameters as Fields,
} from './requests.ts';
import { asking, FOLDER, startStage, type Entry, type Fingerprint, type Stage } from './stage.ts';

const actions = createActions();
const allKeys = [...ruleKeysOf(actions).keys()];
const declared = await declaredParameters();

type Action = NonNullable<ReturnType<typeof actions.get>>;

/** Actions that are not tried with rights here, and why. What is denied of them is denied all the same. */
const UNTRIED: Readonly<Record<string, string>> = {
  generatePdf: 'a program makes it that may not be installed: test/documents',
};

const configuration = checkConfiguration({
  sources: { files: { title: 'Files', baseurl: '/files/', root: '/tmp' } },
});

type Question = Parameters<typeof explain>[0];

/** What the command line says when these rules hold. */
const explained = (question: Question, accessControl: AccessRule[]): string =>
  explain(question, {
    ...configuration,
    config: { ...configuration.config, settings: { ...configuration.config.settings, accessControl } },
  });

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Headers, text and what an archive holds. */
  readonly bytes: Buffer;
}

const send = async (
  door: Door,
  stage: Stage,
  action: Action,
  rules: readonly AccessRule[],
  fields: Fields,
) => {
  const response = await door(`${stage.url}/${action.name}`, asking(rules), fields);
  const body = Buffer.from(await response.arrayBuffer());
  const parts = [Buffer.from(JSON.stringify([...response.headers])), body];
  if (response.headers.get('content-type') === 'application/zip')
    for (const [name, bytes] of Object.entries(unzipSync(body)))
      parts.push(Buffer.from(name), Buffer.from(bytes));
  return { status: response.status, text: body.toString(), bytes: Buffer.concat(parts) };
};

interface Envelope {
  readonly success?: boolean;
  readonly uploaded?: number;
  readonly data?: {
    readonly items?: readonly unknown[];
    readonly removed?: number;
    readonly results?: readonly { readonly name: string; readonly success: boolean }[];
    readonly sources?: readonly {
      readonly files?: readonly unknown[];
      readonly folders?: readonly string[];
    }[];
  };
}

const envelopeOf = ({ text }: Answer): Envelope =>
  text.startsWith('{') ? (JSON.parse(text) as Envelope) : {};

/** Whether an answer refuses: as a whole, or by leaving out all there is. */
const isRefused = (answer: Answer): boolean => {
  if (answer.status >= 400) return true;
  const { success, uploaded, data = {} } = envelopeOf(answer);
  if (data.results !== undefined) return data.results.every((result) => !result.success);
  const lists = [data.items, ...(data.sources ?? []).map(({ files, folders }) => files ?? folders)];
  const found = lists.filter((list) => list !== undefined);
  const isEmpty = found.length > 0 && found.flat().every((one) => one === '.' || one === '..');
  return success === false || uploaded === 0 || data.removed === 0 || isEmpty;
};

/** Whether an answer refuses what it was asked to do with an entry that the request names. */
const refuses = (answer: Answer, { path }: Entry): boolean => {
  const result = envelopeOf(answer).data?.results?.find(
    ({ name }) => path === name || path.endsWith(`/${name}`),
  );
  return result === undefined ? isRefused(answer) : !result.success;
};

const nameOf = (path: string): string => path.replace(/^.*\//u, '');

/** Whether an answer shows the name of an entry, unless the request has said it, or its content. */
const shows = (stage: Stage, answer: Answer, fields: Fields, entry: Entry): boolean => {
  const name = nameOf(entry.path);
  if (!JSON.stringify(fields).includes(name) && answer.bytes.includes(name)) return true;
  const content = stage.contents.get(`${entry.source}/${entry.path}`);
  return (
    content !== undefined &&
    (answer.bytes.includes(content) || answer.bytes.includes(content.toString('base64')))
  );
};

/** An entry that a request is about, and the access keys that it needs there. */
interface Concern {
  readonly entry: Entry;
  readonly keys: readonly string[];
  /** The request names it, or nothing but its folder: then the answer must refuse. */
  readonly isNamed: boolean;
}

/** What a key of making something is needed for lies where it goes. */
const MAKING: readonly string[] = ['FILE_UPLOAD', 'FOLDER_CREATE'];

const folderOf = (path: string): string => path.replace(/\/?[^/]*$/u, '');

const has = (list: readonly Entry[], { source, path }: Entry): boolean =>
  list.some((one) => one.source === source && one.path === path);

/** The entries that a request names; its folder when it names none. */
const namedBy = (stage: Stage, action: Action, fields: Fields): readonly Entry[] => {
  const { path, name, names, from, froms, id, url, fromSource = 'files' } = fields;
  const folder = path === undefined ? '' : `${path as string}/`;
  const ofUrl = action.changes || url === undefined ? [] : [(url as string).replace(stage.baseurl, '')];
  const paths = [
    ...[name ?? [], names ?? []].flat().map((one) => folder + (one as string)),
    ...([from ?? [], froms ?? [], ofUrl, stage.trashed(id as string) ?? []].flat() as string[]),
  ];
  const source = from === undefined && froms === undefined ? 'files' : (fromSource as string);
  const found = stage.entries.filter((entry) => entry.source === source && paths.includes(entry.path));
  if (found.length > 0 || path === undefined) return found;
  return [{ source: 'files', path: path as string, kind: 'folder' }];
};

/** What has come of a request. */
interface Outcome {
  readonly answer: Answer;
  readonly now: Fingerprint;
}

/** The keys of an entry that a listing shows, whatever the action is. */
const sightOf = ({ name }: Action, { kind }: Entry): readonly string[] => {
  if (name === 'folders') return ['FOLDERS'];
  return kind === 'folder' ? ['FILES', 'FOLDERS'] : ['FILES'];
};

/** What a request with all rights did and showed, and so what it needs where. */
const concernsOf = (
  stage: Stage,
  action: Action,
  fields: Fields,
  { answer, now }: Outcome,
): readonly Concern[] => {
  const { made, others, drawn } = stage.touched(now);
  const touched = [...made, ...others];
  // A name that got an extension was none of an entry.
  const named = namedBy(stage, action, fields).filter(
    ({ path }) => !made.some((one) => one.path.startsWith(`${path}.`)),
  );
  const seen = stage.entries.filter((entry) => entry.path !== FOLDER && shows(stage, answer, fields, entry));
  const all = [...named, ...touched, ...drawn, ...seen].filter(
    (entry, index, list) => list.findIndex((one) => has([one], entry)) === index,
  );

  const keysOf = (entry: Entry): readonly string[] => {
    const [isNamed, isTouched] = [has(named, entry), has(touched, entry)];
    const { folder } = action.keys;
    if (isNamed && fields['path'] === entry.path) return folder;
    const isInside =
      !isNamed && all.some((one) => one.kind === 'folder' && entry.path.startsWith(`${one.path}/`));
    // Of what a folder holds: docs/configuration.md, "Access rules".
    if (isInside && folder.includes('FOLDER_RENAME')) return folder;
    const inside = folder.flatMap((key) =>
      /^FOLDER_(?:COPY|MOVE|REMOVE)$/u.test(key) ? `FILE_${key.slice(7)}` : [],
    );
    // What is made was shown elsewhere before.
    const isNew = !isNamed && has(made, entry) && !has(others, entry);
    return [
      ...(isNew ? action.keys[entry.kind] : neededKeys(action, entry.kind)),
      ...(isInside && isTouched && entry.kind === 'file' ? inside : []),
      ...(isNamed || isTouched ? [] : sightOf(action, entry)),
    ];
  };
  const groupOf = (entry: Entry): readonly string[] => {
    if (action.name === 'permissions') return [];
    if (touched.length === 0) return ['READ'];
    return has(touched, entry) ? ['CHANGE'] : [];
  };
  const counts = (key: string, entry: Entry): boolean =>
    !MAKING.includes(key) || key === accessKeyOf(action.name) || has(made, entry);
  return all.map((entry) => ({
    entry,
    isNamed: has(named, entry),
    keys: [...new Set([...keysOf(entry).filter((key) => counts(key, entry)), ...groupOf(entry)])],
  }));
};

/** A rule that denies a key for a part of the tree. */
interface Denial {
  readonly key: string;
  readonly rule: AccessRule;
  readonly covers: (entry: Entry) => boolean;
}

const denialOf = (key: string, { path, extensions }: { path?: string; extensions?: string }): Denial => ({
  key,
  rule: {
    ...(path === undefined ? {} : { path: `/${path}` }),
    ...(extensions === undefined ? {} : { extensions }),
    [key]: false,
  },
  covers: (entry) =>
    (path === undefined || entry.path === path || entry.path.startsWith(`${path}/`)) &&
    (extensions === undefined || (entry.kind === 'file' && entry.path.endsWith(`.${extensions}`))),
});

/**
 * Denials of each key for each entry: at the entry, everywhere, in its folder, and of its extension. One of
 * them in turn, and before a release all of them.
 */
const denialsOf = (concerns: readonly Concern[]): readonly Denial[] => {
  const pairs = concerns.flatMap(({ entry, keys }) => keys.map((key) => ({ key, entry })));
  const all = pairs.flatMap(({ key, entry: { path, kind } }, index) => {
    const denials = [
      denialOf(key, { path }),
      denialOf(key, {}),
      ...(folderOf(path) === '' ? [] : [denialOf(key, { path: folderOf(path) })]),
      ...(kind === 'folder' ? [] : [denialOf(key, { extensions: path.replace(/^.*\./u, '') })]),
    ];
    const turn = index % denials.length;
    return runsEverything ? denials : denials.slice(turn, turn + 1);
  });
  return [...new Map(all.toReversed().map((one) => [JSON.stringify(one.rule), one])).values()].toReversed();
};

/** Expects that what a rule denies was neither changed nor shown, and that the answer says so. */
const expectDenied = (
  stage: Stage,
  { key, covers }: Denial,
  concerns: readonly Concern[],
  fields: Fields,
  { answer, now }: Outcome,
  told: string,
): void => {
  const denied = concerns.filter(({ entry, keys }) => keys.includes(key) && covers(entry));
  const { made, others, drawn } = stage.touched(now);
  const entries = denied.map(({ entry }) => entry);
  expect(
    [...made, ...others, ...drawn].filter((entry) => has(entries, entry)),
    `changed by ${told}`,
  ).toEqual([]);
  expect(
    entries.filter((entry) => has(stage.entries, entry) && shows(stage, answer, fields, entry)),
    `shown by ${told}`,
  ).toEqual([]);
  for (const { entry, isNamed } of denied)
    if (isNamed) expect(refuses(answer, entry), `not refused: ${entry.path} by ${told}`).toBe(true);
  if (isRefused(answer)) expect(now, `left behind by ${told}`).toEqual(stage.begin);
};

const isSame = (one: Fingerprint, other: Fingerprint): boolean =>
  one.size === other.size && [...one].every(([path, hash]) => other.get(path) === hash);

const isFirstOfKey = (denial: Denial, index: number, all: readonly Denial[]): boolean =>
  all.findIndex(({ key }) => key === denial.key) === index;

const pathsOf = (concerns: readonly Concern[]): readonly string[] =>
  concerns.map(({ entry: { source, path } }) => `${source}/${path}`);

/** One action, over a stage of its own. */
class Trial {
  readonly succeeded: Fields[] = [];
  readonly keys = new Set<string>();
  readonly #effects = new Set<string>();
  readonly #stage: Stage;
  readonly #action: Action;

  constructor(stage: Stage, action: Action) {
    this.#stage = stage;
    this.#action = action;
  }

  async #attempt(door: Door, rules: readonly AccessRule[], fields: Fields): Promise<Outcome> {
    const answer = await send(door, this.#stage, this.#action, rules, fields);
    const now = this.#stage.look();
    if (!isSame(now, this.#stage.begin)) this.#stage.restore();
    return { answer, now };
  }

  /** Sends a request with all rights, then with no more than it needs, and then with each of these denied. */
  async send(fields: Fields): Promise<void> {
    const { name } = this.#action;
    const told = `${name} ${JSON.stringify(fields)}`;
    const [[, first] = ['', form], ...others] = Object.entries(
      doorsOf(this.#action, fields, this.#stage.picture),
    );
    const concernsBy = async (door: Door, rules: readonly AccessRule[]): Promise<readonly Concern[]> =>
      concernsOf(this.#stage, this.#action, fields, await this.#attempt(door, rules, fields));

    const whole = name in UNTRIED ? undefined : await this.#attempt(first, [], fields);
    if (whole !== undefined && isRefused(whole.answer)) {
      expect(whole.now, `left behind by ${told}`).toEqual(this.#stage.begin);
      expect(whole.answer.status, told).toBeLessThan(500);
      expect(whole.answer.text, told).not.toContain('ACCESS_DENIED');
      return;
    }
    const concerns =
      whole === undefined ? this.#guessed(fields) : concernsOf(this.#stage, this.#action, fields, whole);
    this.succeeded.push(fields);
    const isKnown = this.#effects.has(JSON.stringify(concerns));
    this.#effects.add(JSON.stringify(concerns));
    const needed = new Set(concerns.flatMap(({ keys }) => keys));
    for (const key of needed) this.keys.add(key);
    if (whole !== undefined && !isKnown) {
      for (const [what, door] of others)
        expect(pathsOf(await concernsBy(door, [])), `${told} by ${what}`).toEqual(pathsOf(concerns));
      const single = allKeys.filter((key) => key !== 'READ' && key !== 'CHANGE');
      const only = Object.fromEntries(single.map((key) => [key, needed.has(key)])) as AccessRule;
      const least = pathsOf(await concernsBy(first, [only]));
      expect(least, `${told} with ${[...needed].join()} alone`).toEqual(pathsOf(concerns));
    }
    // A request that does the same as another one is denied each key once (in turn one key, and before a
    // release all of them), and so is one by another door.
    const all = denialsOf(concerns);
    const byKey = all.filter(isFirstOfKey);
    const turnOfKey = this.succeeded.length % byKey.length;
    const known = runsEverything ? byKey : byKey.slice(turnOfKey, turnOfKey + 1);
    const denials = isKnown ? known : all;
    for (const [index, denial] of denials.entries()) {
      const isEverywhere = !isKnown && isFirstOfKey(denial, index, denials);
      // The others in turn, and before a release all of them.
      const [turn, more] = runsEverything ? [0, others.length] : [index % others.length, 1];
      const further = isEverywhere ? others.slice(turn, turn + more) : [];
      const doors = [first, ...further.map(([, door]) => door)];
      for (const [number, door] of doors.entries()) {
        const outcome = await this.#attempt(door, [denial.rule], fields);
        const { status, text } = outcome.answer;
        const answered = `${String(status)} ${text.slice(0, 300)}`;
        const about = `${told} by door ${String(number)} with ${JSON.stringify(denial.rule)}: ${answered}`;
        expectDenied(this.#stage, denial, concerns, fields, outcome, about);
      }
      this.#explain(denial, concerns);
    }
  }

  /** The command line says the same of the rules. */
  #explain({ rule, key, covers }: Denial, concerns: readonly Concern[]): void {
    const { name } = this.#action;
    // It takes what `folderMove` is asked about for a folder.
    if (name in UNTRIED) return;
    for (const { entry, keys, isNamed } of concerns) {
      if (entry.kind === 'file' && name.startsWith('folder')) continue;
      if (!isNamed || !keys.includes(key) || !covers(entry)) continue;
      const question = { role: 'a', action: name, path: entry.path + (entry.kind === 'folder' ? '/' : '') };
      const told = `explain ${JSON.stringify(question)} with ${JSON.stringify(rule)}`;
      expect(explained(question, [rule]), told).toMatch(/^Denied\./u);
      expect(explained(question, []), told).toMatch(/^Allowed\./u);
    }
  }

  /** What an action that is not tried with rights is about. */
  #guessed(fields: Fields): readonly Concern[] {
    const entry = { source: 'files', path: FOLDER, kind: 'folder' } as const;
    const { keys, changesWith = '' } = this.#action;
    return [{ entry, isNamed: true, keys: changesWith in fields ? keys.file : keys.folder }];
  }
}

describe.each([...actions.values()].map((action) => [action.name, action] as const))('%s', (name, action) => {
  it('neither changes nor shows what is denied, by no door', { timeout: 60_000 }, async () => {
    const schema = declared.get(name);
    if (schema === undefined) throw new Error(`openapi.json does not describe ${name}: npm run generate`);
    const stage = await startStage();
    const trial = new Trial(stage, action);
    for (const fields of requestsFor(schema, stage)) await trial.send(fields);
    const missing = (): readonly string[] =>
      sayableParameters(schema).filter((field) => !trial.succeeded.some((fields) => field in fields));
    // What means something only beside another one.
    for (const field of missing())
      for (const fields of [...trial.succeeded])
        for (const value of valuesFor(schema, stage, field)) await trial.send({ ...fields, ...value });
    expect(
      missing(),
      'No request with these parameters has worked: test/security/requests.ts has their values',
    ).toEqual([]);
    expect([...trial.keys]).toContain(accessKeyOf(name));
  });
});
