import { once } from 'node:events';
import { request, type Agent, type IncomingMessage } from 'node:http';

const BOUNDARY = 'stowage-bench-boundary';

/**
 * Sends bytes as a file of a form, `times` over, and checks that the answer is 200. Keeps one copy of the
 * bytes only.
 */
export const sendForm = async (
  url: string,
  filename: string,
  bytes: Buffer,
  { times = 1, agent }: { readonly times?: number; readonly agent?: Agent } = {},
): Promise<void> => {
  const head = Buffer.from(
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="files[0]"; filename="${filename}"\r\n` +
      'content-type: application/octet-stream\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  const sent = request(url, {
    method: 'POST',
    ...(agent === undefined ? {} : { agent }),
    headers: {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': head.length + bytes.length * times + tail.length,
    },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  // A refusal may come, and the connection go, while bytes are still being written: the answer tells, not the
  // broken pipe.
  const written = (async () => {
    sent.write(head);
    for (let count = 0; count < times; count += 1) if (!sent.write(bytes)) await once(sent, 'drain');
    sent.end(tail);
  })();
  const [answer] = await answered;
  let text = '';
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  await written;
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${String(answer.statusCode)}: ${text}`);
};
