/**
 * Generates the types of the client, `packages/browser/src/generated`, from `packages/stowage/openapi.json`;
 * part of every build.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const packages = resolve(import.meta.dirname, '../packages');

const literal = (value) => (typeof value === 'string' ? `'${value}'` : String(value));

const plainTypes = { string: 'string', boolean: 'boolean', number: 'number', integer: 'number' };

const membersOf = ({ properties = {}, required = [] }) =>
  Object.entries(properties)
    .map(([name, schema]) => {
      const comment = schema.description === undefined ? '' : `/** ${schema.description} */\n`;
      return required.includes(name)
        ? `${comment}readonly ${name}: ${typeOf(schema)};`
        : `${comment}readonly ${name}?: ${typeOf(schema)} | undefined;`;
    })
    .join('\n');

const typeOf = (schema) => {
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  const { additionalProperties: values } = schema;
  if (typeof values === 'object') return `Readonly<Record<string, ${typeOf(values)}>>`;
  if (schema.type === 'object') return `{\n${membersOf(schema)}\n}`;
  const plain = plainTypes[schema.type];
  if (plain === undefined) throw new Error(`No type for ${JSON.stringify(schema)}`);
  return plain;
};

const without = ({ properties = {}, ...schema }, names) => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
});

/**
 * Nearly every action has the two of PLACE; FOR_OTHERS is left out, since the client reads the responses of
 * the protocol, not those for editors.
 */
const PLACE = ['source', 'path'];
const FOR_OTHERS = ['responseType'];
const FILES = 'files[0]';

/** The actions of the description, with the properties that the client needs. */
const actionsOf = ({ paths, components: { schemas } }) =>
  Object.entries(paths).flatMap(([path, { post }]) => {
    const name = path.slice(1);
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    const sent = schemas[`${type}Parameters`];
    if (post?.operationId !== name || sent === undefined) return [];
    const { description, content } = post.responses[200];
    const isFile = Object.keys(content).some((media) => media !== 'application/json');
    const [, savedBy] = (isFile && 'application/json' in content && /`(\w+)`/u.exec(description)) || [];
    const takesFiles = FILES in (sent.properties ?? {});
    const needsFiles = sent.required?.includes(FILES) === true;
    const parameters = without(sent, takesFiles ? [...FOR_OTHERS, FILES] : FOR_OTHERS);
    const data = without(schemas[`${type}Data`] ?? {}, ['code']);
    const isPlaced = PLACE.every((one) => one in parameters.properties);
    const isPlace = Object.keys(parameters.properties).every((one) => PLACE.includes(one)) && !takesFiles;
    return [
      {
        name,
        type,
        summary: post.summary,
        takesFiles,
        needsFiles,
        parameters,
        data,
        isFile,
        savedBy,
        isPlaced,
        isPlace,
      },
    ];
  });

const filesMember = (
  areNeeded,
) => `/** The files. A \`File\` brings its name; give one to a \`Blob\` by \`new File([blob], name)\`. */
readonly files${areNeeded ? ': readonly Blob[]' : '?: readonly Blob[] | undefined'};`;

const parametersType = ({ name, type, takesFiles, needsFiles, parameters, isPlaced }) =>
  `/** Parameters of \`${name}\`. */
export interface ${type}Parameters ${isPlaced ? 'extends Place ' : ''}{
${membersOf(isPlaced ? without(parameters, PLACE) : parameters)}
${takesFiles ? filesMember(needsFiles) : ''}
}`;

const hasData = ({ data }) => Object.keys(data.properties).length > 0;

const answerType = ({ name, type, data, savedBy }) =>
  `/** Response of \`${name}\`${savedBy === undefined ? '' : ` with \`${savedBy}\``}. */
export interface ${type}Data extends Success {
${membersOf(data)}
}`;

const entryOf = (action) => {
  const { name, type, summary, isFile, savedBy, isPlace } = action;
  const data = hasData(action) ? `answers.${type}Data` : 'answers.Success';
  const saved =
    savedBy === undefined
      ? ''
      : `/** The answer when \`${savedBy}\` is given. */
readonly saved: { readonly by: '${savedBy}'; readonly answer: ${data} };`;
  return `/** ${summary} */
readonly ${name}: {
readonly parameters: parameters.${isPlace ? 'Place' : `${type}Parameters`};
readonly answer: ${isFile ? 'Response' : data};
${saved}
};`;
};

const HEADER = '// Made from openapi.json by the build. Do not edit.\n';

const filesOf = (actions) => ({
  'parameters.ts': `${HEADER}
/** Where an action works. */
export interface Place {
${membersOf(actions.find(({ isPlace, isPlaced }) => isPlace && isPlaced).parameters)}
}

${actions
  .filter(({ isPlace }) => !isPlace)
  .map(parametersType)
  .join('\n\n')}
`,
  'answers.ts': `${HEADER}
/** Fields of every successful response. */
export interface Success {
readonly code: 220;
}

${actions.filter(hasData).map(answerType).join('\n\n')}
`,
  'actions.ts': `${HEADER}import type * as answers from './answers.ts';
import type * as parameters from './parameters.ts';

/** Every action with its parameters and its answer. */
export interface Actions {
${actions.map(entryOf).join('\n')}
}

/** Whether the response of an action is a file. */
export const hasFile: Readonly<Record<keyof Actions, boolean>> = {
${actions.map(({ name, isFile }) => `${name}: ${isFile},`).join('\n')}
};
`,
});

/** Writes changed files. */
export const writeClientTypes = async () => {
  const folder = join(packages, 'browser/src/generated');
  await mkdir(folder, { recursive: true });
  const description = JSON.parse(await readFile(join(packages, 'stowage/openapi.json'), 'utf8'));
  for (const [name, text] of Object.entries(filesOf(actionsOf(description)))) {
    const path = join(folder, name);
    if ((await readFile(path, 'utf8').catch(() => '')) !== text) await writeFile(path, text);
  }
};
