/** An instance whose store takes what it is sent and never answers: killed in the middle of an upload. */
import { createApp, registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { memoryFactory } from '#internals';

registerStorageAdapter('hanging', {
  create: async (context) =>
    withFaults(await memoryFactory.create({ ...context, options: undefined }), [
      { operation: 'commit', effect: 'stall' },
    ]),
});
const [url] = process.argv.slice(2);
const files = { title: 'Files', baseurl: 'http://files.example/', storageAdapter: 'hanging' };
const app = createApp({ sources: { files }, quota: { bytes: 1000 }, redis: { url } });
const { port } = await app.listen(0, '127.0.0.1');
process.stdout.write(`${String(port)}\n`);
