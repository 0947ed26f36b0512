import { capitalised, describedActions, type DescribedAction } from './interface.ts';
import type { JsonSchema } from './settings-schema.ts';

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  number: 'number',
  integer: 'number',
};

const membersOf = ({ properties = {}, required = [] }: JsonSchema): string =>
  Object.entries(properties)
    .map(([name, schema]) => {
      const comment = schema.description === undefined ? '' : `/** ${schema.description} */\n`;
      return required.includes(name)
        ? `${comment}readonly ${name}: ${typeOf(schema)};`
        : `${comment}readonly ${name}?: ${typeOf(schema)} | undefined;`;
    })
    .join('\n');

const typeOf = (schema: JsonSchema): string => {
  if (schema['const'] !== undefined) return literal(schema['const']);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  const { additionalProperties: values } = schema;
  if (typeof values === 'object') return `Readonly<Record<string, ${typeOf(values)}>>`;
  if (schema.type === 'object') return `{\n${membersOf(schema)}\n}`;
  const plain = typeof schema.type === 'string' ? plainTypes[schema.type] : undefined;
  if (plain === undefined) throw new Error(`No type for ${JSON.stringify(schema)}`);
  return plain;
};

const filesMember = `/** The files. A \`File\` brings its name; give one to a \`Blob\` by \`new File([blob], name)\`. */
readonly files: readonly Blob[];`;

/** Where nearly every action works. */
const place = ['source', 'path'];

/** The client reads the answers of the protocol, not those of editors. */
const forOthers = ['responseType'];

const without = ({ properties = {}, ...schema }: JsonSchema, names: readonly string[]): JsonSchema => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
});

const parametersName = ({ name, parameters, takesFiles }: DescribedAction): string => {
  const isPlace = Object.keys(parameters.properties ?? {}).every((key) => place.includes(key));
  return isPlace && !takesFiles ? 'Place' : `${capitalised(name)}Parameters`;
};

const parametersType = (action: DescribedAction): string => {
  const { name, takesFiles, parameters } = action;
  if (parametersName(action) === 'Place') return '';
  const isPlaced = place.every((key) => key in (parameters.properties ?? {}));
  return `/** Parameters of \`${name}\`. */
export interface ${parametersName(action)} ${isPlaced ? 'extends Place' : ''} {
${membersOf(without(parameters, isPlaced ? [...place, ...forOthers] : forOthers))}
${takesFiles ? filesMember : ''}
}`;
};

const placeType = (actions: readonly DescribedAction[]): string => {
  const [action] = actions.filter((one) => parametersName(one) === 'Place');
  return `/** Where an action works. */
export interface Place {
${membersOf(action?.parameters ?? {})}
}`;
};

const answerName = ({ name, answer }: DescribedAction): string => {
  if ('contentType' in answer) return 'Response';
  return `answers.${membersOf(answer.data) === '' ? 'Success' : `${capitalised(name)}Data`}`;
};

const answerType = ({ name, answer }: DescribedAction): string => {
  const saved = 'contentType' in answer ? answer.saved : undefined;
  const data = 'data' in answer ? answer.data : saved?.data;
  return data === undefined || membersOf(data) === ''
    ? ''
    : `/** What \`${name}\` answers${saved === undefined ? '' : ` when it is given \`${saved.by}\``}. */
export interface ${capitalised(name)}Data extends Success {
${membersOf(data)}
}`;
};

const savedMember = ({ name, answer }: DescribedAction): string =>
  'contentType' in answer && answer.saved !== undefined
    ? `/** The answer when \`${answer.saved.by}\` is given. */
readonly saved: { readonly by: '${answer.saved.by}'; readonly answer: answers.${capitalised(name)}Data };`
    : '';

const entryOf = (action: DescribedAction): string =>
  `/** ${action.summary} */
readonly ${action.name}: {
readonly parameters: parameters.${parametersName(action)};
readonly answer: ${answerName(action)};
${savedMember(action)}
};`;

const kindOf = ({ name, answer }: DescribedAction): string =>
  `${name}: '${'contentType' in answer ? 'file' : 'data'}',`;

const HEADER = '// Generated from the actions by `npm run generate`. Do not edit.';

/** The parameters of all actions, unformatted. */
export const clientParameters = (): string => {
  const actions = describedActions();
  return `${HEADER}\n\n${[placeType(actions), ...actions.map(parametersType)].join('\n\n')}\n`;
};

/** The answers of all actions, unformatted. */
export const clientAnswers = (): string => `${HEADER}

/** What every successful answer holds. */
export interface Success {
  readonly code: 220;
}

${describedActions().map(answerType).join('\n\n')}
`;

/** The table of all actions, unformatted. */
export const clientActions = (): string => {
  const actions = describedActions();
  return `${HEADER}
import type * as answers from './answers.ts';
import type * as parameters from './parameters.ts';

/** Every action with its parameters and its answer. */
export interface Actions {
${actions.map(entryOf).join('\n')}
}

/** Whether an action answers data or a file. */
export const answerKinds = {
${actions.map(kindOf).join('\n')}
} as const satisfies Readonly<Record<keyof Actions, 'data' | 'file'>>;
`;
};
