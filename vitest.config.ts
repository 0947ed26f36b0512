import { configDefaults, defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/long-files-first.ts';

/**
 * Files that follow one another in a process: starting one and loading the package takes half a second each. What measures its
 * process or sets a variable of it for long, and what keeps servers and browsers, has one of its own.
 */
const TOGETHER = [
  'test/{access,changes,cli,config,interface,network,operations,serving}/*.test.ts',
  'test/adapters/{across-stores,action-costs,adapter-files,azure,conformance,example,gcs,locations}.test.ts',
  'test/adapters/{memory,other-realms,path-stores-service,store-costs,trash-forged}.test.ts',
  'test/adapters/{s3,s3-bucket,s3-faults,s3-layout,s3-moving,shared-listings,trash-stores,tus-stores}.test.ts',
  'test/adapters/{azure-service,ftp-corners,ftp-others,ftp-server,gcs-service,sftp-proftpd,sftp-rclone,sftp-server}.test.ts',
  'test/adapters/{ftp,sftp,webdav}-distrust.test.ts',
  'test/adapters/webdav-{apache-digest,lighttpd,nginx,rclone,sabredav,slow-content}.test.ts',
  'test/basics/!(temporary-files).test.ts',
  'test/docs/{apache-serving,caching-proxy,links,nginx*,one-upload,site}.test.ts',
  'test/documents/{document-resources,docx-!(limits|rendered),saving}.test.ts',
  'test/http/!(bodies|server|slow-clients).test.ts',
  'test/model/{interleaved,single-faults}.test.ts',
  'test/pictures/!(thumbnail-bitmaps|thumbnail-making).test.ts',
  'test/protocol/!(quotas|listing-date-format).test.ts',
  'test/sources/!(missing-roots|real-tenants).test.ts',
  'test/security/!(bodies|growing-inputs|ssrf).test.ts',
];

/** Vitest does not hand the option on to its projects. */
const leftOut = process.argv.filter((_, index) => process.argv[index - 1] === '--exclude');

export default defineConfig({
  test: {
    setupFiles: ['test/setup.ts'],
    globalSetup: ['test/shared-servers.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // How long expect.poll waits at most: a busy machine is no failure.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Node loads the built package itself, as it does for everybody else; that is also half of the time of an import.
    server: { deps: { external: [/\/dist\/[^/]+\.js$/u] } },
    // Many tests wait for servers and browsers: on two cores two more workers use that time.
    maxWorkers: 4,
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...leftOut, ...TOGETHER],
        },
      },
      {
        extends: true,
        test: {
          name: 'together',
          isolate: false,
          include: TOGETHER,
          exclude: [...configDefaults.exclude, ...leftOut],
        },
      },
    ],
  },
});
