import { catalogues } from '../../packages/stowage/src/errors/languages/languages.ts';
import { type DetailedCode, detailedMessages, errorTable } from '../../packages/stowage/src/errors/table.ts';
import { code, table } from './markdown.ts';

/** The reference page of errors. */
export const errorsPage =
  (): string => `<!-- Generated from src/errors/table.ts by \`npm run generate\`. Do not edit. -->

# Errors

A request that fails gets the status of its error and this body. \`data.messages\` tells the user what is wrong; for 400 it has one
message per problem.

~~~json
{ "success": false, "data": { "code": 404, "error": "NOT_FOUND", "messages": ["File or folder not found."] } }
~~~

Where the message names something, \`data.details\` has the values for programs: \`{ "name": "a.mov", "limit": "10MB" }\`.

Messages come in ${Object.keys(catalogues)
    .map((language) => code(language))
    .join(', ')}: in the language of the parameter \`language\`, else the best of
\`Accept-Language\`, else English. \`Content-Language\` says which. Where English says more exactly what is wrong
with a form in parts, a header or the like, other languages have the message of the table.
A form of several files is stored whole or not at all: when one file is refused, another message says so and names it. Only a file that has replaced an
older one already stays when the storing of another fails.

Over HTTP/1.1 the first message is also the reason phrase of the status line, in English where a translation is not ASCII. With
\`errorHttpStatus: false\` errors of actions come with the status line 200, and only \`data.code\` holds the number.

The code is what \`data.error\`, the log and the error classes of the package show. The message is what the client reads when nothing more exact is known.

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
Any other exception of a hook answers 500 without its text.

Answers never hold paths of the server, keys, hosts of a storage, or stacks. These go to the log only.
`;
