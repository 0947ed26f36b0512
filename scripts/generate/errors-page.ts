import { errorTable } from '../../src/errors/table.ts';
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

Over HTTP/1.1 the first message is also the reason phrase of the status line, as far as it is ASCII. With
\`errorHttpStatus: false\` errors of actions come with the status line 200, and only \`data.code\` holds the number.

The code is what \`data.error\`, the log and the error classes of the package show. The message is what the client reads when nothing more exact is known.

${table(
  ['Code', 'Status', 'Message'],
  Object.entries(errorTable).map(([name, { status, message }]) => [code(name), String(status), message]),
)}

Hooks may reject a request with any status by \`throw new HttpError(status, message)\`; the message goes to the client as it is.
Any other exception of a hook answers 500 without its text.

Answers never hold paths of the server, keys, hosts of a storage, or stacks. These go to the log only.
`;
