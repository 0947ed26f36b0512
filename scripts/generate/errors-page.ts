import { catalogues } from '../../packages/stowage/src/errors/languages/languages.ts';
import { type DetailedCode, detailedMessages, errorTable } from '../../packages/stowage/src/errors/table.ts';
import { code, table } from './markdown.ts';

/** The reference page of errors. */
export const errorsPage =
  (): string => `<!-- Generated from src/errors/table.ts by \`npm run generate\`. Do not edit. -->

# Errors

A failed request returns the status of its error and this body. \`data.messages\` contains the message for the user; for 400 one
message for each problem.

~~~json
{ "success": false, "data": { "code": 404, "error": "NOT_FOUND", "messages": ["File or folder not found."] } }
~~~

If the message contains values, \`data.details\` has them for programs: \`{ "name": "a.mov", "limit": "10MB" }\`.

Messages are available in ${Object.keys(catalogues)
    .map((language) => code(language))
    .join(', ')}: in the language of the parameter \`language\`, else the best of
\`Accept-Language\`, else English. \`Content-Language\` names the language. Some English messages about multipart forms, headers and the like are more specific; other languages
have the message of the table for these.

A form of several files is stored completely or not at all: if one file is rejected, a second message names it. Only a file that has already replaced an
older one stays if storing another one fails.

Over HTTP/1.1 the first message is also the reason phrase of the status line, in English if the translation is not ASCII. With
\`errorHttpStatus: false\` errors of actions have the status 200, and only \`data.code\` has the number.

\`data.error\`, the log and the error classes of the package contain the code. The client gets the message of the table unless there is a more specific one.

${table(
  ['Code', 'Status', 'Message', 'With its values'],
  Object.entries(errorTable).map(([name, { status, message }]) => [
    code(name),
    String(status),
    message,
    name in detailedMessages ? detailedMessages[name as DetailedCode] : '',
  ]),
)}

Hooks may reject a request with any status by \`throw new HttpError(status, message)\`; the client gets the message unchanged.
Any other exception of a hook becomes a 500 without its text.

Responses never contain paths of the server, keys, hosts of a storage, or stack traces. These appear only in the log.
`;
