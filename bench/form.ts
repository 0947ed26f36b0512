import { once } from 'node:events';
import { request, type Agent, type IncomingMessage } from 'node:http';

const BOUNDARY = 'stowage-bench-boundary';

const headOf = (filename: string): Buffer =>
  Buffer.from(
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="files[0]"; filename="${filename}"\r\n` +
      'content-type: application/octet-stream\r\n\r\n',
  );
const tail = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

/** Sends a form in these parts, and checks that the response is 200. */
const send = async (url: string, parts: readonly Buffer[], agent: Agent | undefined): Promise<void> => {
  const sent = request(url, {
    method: 'POST',
    ...(agent === undefined ? {} : { agent }),
    headers: {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': parts.reduce((sum, { length }) => sum + length, 0),
    },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  // The server may respond and close the connection while bytes are still being written: the response
  // matters, not the broken pipe.
  const written = (async () => {
    for (const part of parts) if (!sent.write(part)) await once(sent, 'drain');
    sent.end();
  })();
  const [answer] = await answered;
  let text = '';
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  await written;
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${String(answer.statusCode)}: ${text}`);
};

/** Sends bytes, repeated `times`, as a file of a form. Needs only one copy of the bytes. */
export const sendForm = (
  url: string,
  filename: string,
  bytes: Buffer,
  { times = 1, agent }: { readonly times?: number; readonly agent?: Agent } = {},
): Promise<void> => send(url, [headOf(filename), ...Array<Buffer>(times).fill(bytes), tail], agent);

/** Sends one form of files with these names, all with the same bytes. */
export const sendFiles = (
  url: string,
  filenames: readonly string[],
  bytes: Buffer,
  agent: Agent,
): Promise<void> => {
  const between = Buffer.from('\r\n');
  return send(url, [...filenames.flatMap((name) => [between, headOf(name), bytes]), tail], agent);
};
