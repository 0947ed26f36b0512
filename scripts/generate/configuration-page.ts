import { optionsSchemas } from '../../packages/stowage/src/adapters/table.ts';
import { DEFAULT_BASEURL } from '../../packages/stowage/src/config/environment.ts';
import { defaultExtensions } from '../../packages/stowage/src/config/settings/values.ts';
import { code, defaultInWords, table, typeInWords } from './markdown.ts';
import {
  documentedSettings,
  writtenSchema,
  type DocumentedSetting,
  type JsonSchema,
} from './settings-schema.ts';

const HEAD = ['Key', 'Type', 'Default', 'Meaning'];

const adapterNames = Object.keys(optionsSchemas);

type Row = readonly string[];

const rowsOf = (key: string, schema: JsonSchema, meaning: string): readonly Row[] => {
  const { properties } = schema;
  if (properties === undefined) {
    return [[code(key), typeInWords(schema), defaultInWords(schema.default), meaning]];
  }
  return [
    [code(key), 'object', '', meaning],
    ...Object.entries(properties).flatMap(([inner, child]) =>
      rowsOf(`${key}.${inner}`, child, child.description ?? ''),
    ),
  ];
};

const settingRows = (settings: readonly DocumentedSetting[]): readonly Row[] =>
  settings.flatMap(({ key, schema, meta }) => rowsOf(key, schema, meta.meaning));

const isUsed = ({ meta }: DocumentedSetting): boolean => meta.unused !== true;

const adapterSection = (): string =>
  Object.entries(optionsSchemas)
    .map(([adapter, schema]) => {
      const { properties = {}, required = [] } = writtenSchema(schema);
      const rows = Object.entries(properties).flatMap(([key, child]) =>
        rowsOf(key, child, child.description ?? '').map(
          ([name = '', type = '', preset = '', meaning = '']) => [
            name,
            type,
            required.includes(key) && preset === '' ? 'required' : preset,
            meaning,
          ],
        ),
      );
      return `## Options of the ${adapter} adapter\n\nUnder ${code(`sources.<name>.${adapter}`)}.\n\n${table(HEAD, rows)}\n\n`;
    })
    .join('');

/** The reference page of the configuration. */
export const configurationPage = (): string => {
  const settings = documentedSettings();
  const perSource = settings.filter((one) => isUsed(one) && one.meta.scope === 'source');
  const global = settings.filter((one) => isUsed(one) && one.meta.scope === 'global');
  const unused = settings.filter((one) => !isUsed(one));
  return `<!-- Generated from src/config/settings.ts by \`npm run generate\`. Do not edit. -->

# Configuration

The configuration is a JSON object with the settings that differ from the defaults below. Pass it as a file to ${code('stowage serve --config FILE')}, as JSON text in the environment variable ${code('CONFIG')}, as a file name in ${code('CONFIG_FILE')}, or as the first argument of ${code('createApp')} and ${code('createRouter')}.

~~~json
{
  "$schema": "./node_modules/stowage/config.schema.json",
  "extensions": ["jpg", "jpeg", "png", "gif", "webp", "pdf"],
  "maxUploadFileSize": "20mb",
  "sources": {
    "photos": {
      "title": "Photos",
      "root": "/srv/photos",
      "baseurl": "https://cdn.example.com/photos/",
      "extensions": ["jpg", "jpeg", "png", "webp"]
    }
  }
}
~~~

Rules:

1. Nested objects (${code('documents')}, ${code('pdf')}, ${code('dynamicSourcesCache')}) merge with the defaults key by key.
2. A list replaces the default list.
3. ${code('null')} keeps the default, at every depth.
4. ${code('sources')} replaces the default source as a whole. ${code('{}')} means no sources.
5. With unknown keys or invalid values the service does not start. The error lists every problem with its dotted key, such as ${code('sources.photos.thumbSize: must be a whole number, not the text "big"')}.
6. To keep passwords out of the configuration, write ${code('{ "env": "NAME" }')} instead of any text to read it from an environment variable, or ${code('{ "file": "/run/secrets/name" }')} to read it from a file, without the line break at its end. This does not apply to options of registered adapters and sources of ${code('resolveSources')}.

${code('stowage check-config --config FILE')} checks a file without starting the service. Code editors read the types and meanings of the keys from ${code('config.schema.json')} in the package.

## Settings of a source

Set them at the top level for all sources, or in a source for that source only.

${table(HEAD, settingRows(perSource))}

The default of ${code('extensions')}: ${defaultExtensions.map(code).join(' ')}.

It includes html, htm, js and xml. Uploaded pages and scripts run on the domain of ${code('baseurl')}; if that is the domain of your site, they can act with the rights of its visitors. List only the types that you need; a warning at startup reminds you.

## Global settings

They apply before a source is known. In a source they are checked, but have no effect; a warning at startup names them.

${table(HEAD, settingRows(global))}

## Access rules

${code('accessControl')} is a list of rules. A rule has an optional ${code('role')} (${code('*')} or absent: every role), an optional ${code('path')} (a folder inside the source, with everything below it; ${code('*')} or absent: everything), optional ${code('extensions')} (a list, or text split on commas and spaces; ${code('*')} or absent: all), and any number of action keys set to ${code('true')} or ${code('false')}. Of the rules that apply and name the action, the last one counts; if there is none, the action is allowed. On a store that does not distinguish letter case (disks of macOS and Windows, most network shares) a rule for ${code('/private')} also applies to ${code('/Private')}.

~~~json
{
  "accessControl": [
    { "CHANGE": false },
    { "role": "editor", "CHANGE": true },
    { "role": "editor", "path": "/archive", "CHANGE": false, "FILE_UPLOAD": true }
  ]
}
~~~

An action key is the name of the action in capitals, with underscores between its words: ${code('fileUploadRemote')} is ${code('FILE_UPLOAD_REMOTE')}. Two keys stand for many actions: ${code('CHANGE')} for every action that changes anything, also in later versions, and ${code('READ')} for the others. The key of an action overrides them in the same or a later rule. ${code('CHANGE')} does not cover ${code('TRASH_LIST')}, ${code('GENERATE_PDF')} and ${code('GENERATE_DOCX')} (a document that is saved needs ${code('FILE_UPLOAD')}), and ${code('READ')} does not cover ${code('PERMISSIONS')}. In code, ${code('readOnly')} of the package is the list that denies every change: ${code("accessControl: [...readOnly, { role: 'editor', CHANGE: true }]")}. If no rule for an item names ${code('IMAGE_ROTATE')}, ${code('IMAGE_RESIZE')} applies to it.

Some actions need several keys: ${code('fileUploadRemote')} needs ${code('FILE_UPLOAD')} too, ${code('fileReplace')} ${code('FILE_UPLOAD')} and ${code('FILE_REMOVE')} (with ${code('url')} also ${code('FILE_UPLOAD_REMOTE')}), ${code('trashRestore')} ${code('FILE_UPLOAD')} or ${code('FOLDER_CREATE')}, ${code('trashRemove')} and ${code('trashEmpty')} ${code('FILE_REMOVE')} or ${code('FOLDER_REMOVE')}. ${code('stowage explain')} and ${code('permissions')} evaluate all of them. In rules that the hook ${code('accessControl')} returns, every action key must be true or false: null and undefined are rejected, because they would allow the action.

Listings leave out denied items: files by ${code('FILES')}, folders by ${code('FILES')} or ${code('FOLDERS')}. The contents of a folder count as well: to copy, move or remove the folder, the role needs the key of the action on files (${code('FILE_MOVE')} for ${code('FOLDER_MOVE')}) for the files in it. Renaming a folder needs only ${code('FOLDER_RENAME')}, in every action that renames. A copy, move, rename or restore to another folder is refused if it would show the role what it cannot see: items that ${code('FILES')}, ${code('FOLDERS')} or ${code('FILE_DOWNLOAD')} deny at the old path and allow at the new one.

## Sources

${code('sources')} is an object. Its keys name the sources. Requests select a source by its key or its ${code('name')}, so these must be unique.

${table(HEAD, [
  [code('name'), 'text', 'the key', 'Name used in requests.'],
  [code('title'), 'text', 'required', 'Name shown in the browser.'],
  [
    code('baseurl'),
    'text',
    'required',
    'Public URL of the source root, http or https, or only its path, without query. A slash is added at the end. Links to files and thumbnails begin with it; your web server or CDN must serve the files there. Not required with `serve`: the service then serves the files at its own address.',
  ],
  [
    code('baseurlAliases'),
    'list of text',
    code('[]'),
    'Other public URLs of the same files, for a site with several host names. `getLocalFileByUrl` and documents recognise them too; responses use `baseurl`.',
  ],
  [
    code('root'),
    'text',
    'required with `local`',
    'Directory of a local source; a relative path is resolved against the working directory. With other adapters a folder below the root of the adapter.',
  ],
  [
    code('storageAdapter'),
    'text',
    code('"local"'),
    `${['local', ...adapterNames].map(code).join(', ')}, or the name of a registered adapter.`,
  ],
  ...adapterNames.map((name) => [
    code(name),
    'object',
    `required with ${code(name)}`,
    `Options of the ${name} adapter.`,
  ]),
  [
    'any setting above',
    '',
    'the global value',
    'Overrides the global value for this source. Nested objects are merged with the global ones.',
  ],
])}

The options of a registered adapter are under the key with the name of the adapter.

## Environment variables

${table(
  ['Variable', 'Default', 'Meaning'],
  [
    [code('CONFIG'), '', 'The configuration as JSON text, without `--config`.'],
    [code('CONFIG_FILE'), '', 'Name of the configuration file, without `--config` and `CONFIG`.'],
    [
      code('HOST'),
      code('127.0.0.1'),
      'Address to listen on, without `--host`. `0.0.0.0` or `::` for all addresses.',
    ],
    [code('PORT'), code('8081'), 'Port to listen on, without `--port`.'],
    [code('SOURCE_NAME'), code('Files'), 'Title of the default source.'],
    [code('SOURCE_ROOT'), code('./files'), 'Directory of the default source.'],
    [
      code('SOURCE_BASEURL'),
      code(DEFAULT_BASEURL),
      'Public URL of the default source. If it is not set, a warning at startup reports it.',
    ],
    [
      code('STOWAGE_CHROMIUM'),
      'the first Chromium or Chrome found',
      'Path of the browser that prints PDF. Needed only if it is not in a usual location.',
    ],
  ],
)}

The default source is used if the configuration has no ${code('sources')}. Its key is ${code('default')}.

${adapterSection()}## Accepted without effect

Configurations written for other connectors may contain these keys. They are checked and otherwise ignored.

${table(HEAD, settingRows(unused))}
`;
};
