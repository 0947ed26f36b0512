import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GcsEmulator } from './gcs-emulator.ts';

/** A running emulator, with the credentials file of a service account that it accepts. */
export interface GcsServer {
  readonly emulator: GcsEmulator;
  readonly credentialsFile: string;
  /** A similar file with an unknown key. */
  readonly strangersFile: string;
  stop(): Promise<void>;
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Starts an emulator with one bucket. */
export const startGcs = async (bucket: string): Promise<GcsServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-gcs-'));
  const [own, strange] = [newKey(), newKey()];
  const write = async (name: string, { privateKey }: ReturnType<typeof newKey>): Promise<string> => {
    const file = join(folder, name);
    const account = {
      type: 'service_account',
      project_id: 'tests',
      private_key_id: '1',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: 'stowage@tests.iam.example',
    };
    await writeFile(file, JSON.stringify(account));
    return file;
  };
  const emulator = await GcsEmulator.start(bucket, own.publicKey);
  return {
    emulator,
    credentialsFile: await write('own.json', own),
    strangersFile: await write('strange.json', strange),
    stop: async () => {
      await emulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
