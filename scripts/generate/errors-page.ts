import { catalogues } from '../../packages/stowage/src/errors/languages/languages.ts';
import { type DetailedCode, detailedMessages, errorTable } from '../../packages/stowage/src/errors/table.ts';
import { code, table } from './markdown.ts';

/** The reference page of errors. */
export const errorsPage =
  (): string => `<!-- Generated from src/errors/table.ts by \`npm run generate\`. Do not edit. -->

# Errors

A request that fails gets the status of its error and this body. \`data.messages\` is the message for the user; for 400 it has one
message per problem.

~~~json
{ "success": false, "data": { "code": 404, "error": "NOT_FOUND", "messages": ["File or folder not found."] } }
~~~

If the message contains values, \`data.details\` has them for programs: \`{ "name": "a.mov", "limit": "10MB" }\`.

Messages come in ${Object.keys(catalogues)
    .map((language) => code(language))
    .join(', ')}: in the language of the parameter \`language\`, else the best of
\`Accept-Language\`, else English. \`Content-Language\` names it. Some English messages about multipart forms, headers and the like are more exact; other languages
have the message of the table there.
A form of several files is stored whole or not at all: when one file is rejected, a second message names it. Only a file that has already replaced an
older one stays when storing another one fails.

Over HTTP/1.1 the first message is also the reason phrase of the status line, in English where a translation is not ASCII. With
\`errorHttpStatus: false\` errors of actions come with the status line 200, and only \`data.code\` has the number.

\`data.error\`, the log and the error classes of the package have the code. The client gets the message unless a more exact one is known.

${table(
  ['Code', 'Status', 'Message', 'With its values'],
  Object.entries(errorTable).map(([name, { status, message }]) => [
    code(name),
    String(status),
    message,
    name in detailedMessages ? detailedMessages[name as DetailedCode] : '',
  ]),
)}

Hooks may reject a request with any status by \`throw new HttpError(status, message)\`; the message goes to the client as it is.
Any other exception of a hook becomes a 500 without its text.

Responses never contain paths of the server, keys, hosts of a storage, or stacks. These go to the log only.
`;
