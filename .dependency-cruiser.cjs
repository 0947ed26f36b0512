/**
 * The arrows of the house. A request walks http -> parameters -> actions -> view or changes -> storage (port); adapters and engines stand
 * behind ports, and only connector.ts joins everything. The rooms are the folders at the top; none imports one that stands above it.
 */
const SERVER = '^packages/stowage/src/';
/** From the ground up, each with the rooms that it may import. */
const rooms = {
  errors: [],
  basics: ['errors'],
  parameters: ['errors', 'basics', 'storage/source-path'],
  storage: ['errors', 'basics'],
  adapters: ['errors', 'basics', 'storage'],
  config: ['errors', 'basics', 'storage', 'adapters/(table|.+/options)\\.ts$'],
  access: ['errors', 'basics', 'storage/(source-path|entry)', 'config'],
  sources: ['errors', 'basics', 'storage', 'config'],
  operations: ['errors', 'basics', 'storage', 'config'],
  pictures: ['errors', 'basics', 'storage', 'config', 'sources'],
  documents: ['errors', 'basics', 'pictures'],
  // The two doors: what is read, and what changes.
  view: ['errors', 'basics', 'storage', 'config', 'access', 'sources', 'pictures'],
  changes: ['errors', 'basics', 'storage', 'config', 'access', 'sources', 'operations', 'pictures', 'view'],
  actions: ['(?!http|cli|operations|adapters)'],
  http: ['(?!cli|adapters|documents|pictures)'],
  cli: [''],
};
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^packages/', pathNot: [from, ...allowed] },
});
const room = ([name, allowed]) =>
  only(
    name,
    `${SERVER}${name}/`,
    allowed.map((one) => `${SERVER}${one}`),
  );
/** Folders of a room that know less than the room does. */
const part = (path, allowed) =>
  only(
    path,
    `${SERVER}${path}/`,
    allowed.map((one) => `${SERVER}${one}`),
  );

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    ...Object.entries(rooms).map(room),
    part('basics/content', ['errors']),
    part('basics/log', []),
    part('basics/concurrency', ['errors']),
    part('basics/files', ['errors']),
    part('basics/network', ['errors', 'basics']),
    part('storage/about', ['errors', 'basics', 'storage']),
    part('storage/trash', ['errors', 'basics', 'storage']),
    part('storage/moved', ['errors', 'basics', 'storage']),
    part('adapters/support', ['errors', 'basics', 'storage']),
    part('adapters/objects', [
      'errors',
      'basics',
      'storage',
      'adapters/(support/|remote/core/|capabilities\\.ts$)',
    ]),
    part('adapters/remote', ['errors', 'basics', 'storage', 'adapters/(support/|capabilities\\.ts$)']),
    part('operations/state', ['errors', 'basics']),
    part('operations/quotas', ['errors', 'basics', 'storage', 'operations/state']),
    part('operations/events', ['errors', 'basics', 'config', 'operations/state']),
    part('operations/describing', ['errors', 'basics', 'storage/about/about\\.ts$']),
    part('operations/inspection', ['errors', 'basics', 'config']),
    // The protocol of uploads in parts: knows HTTP, and of the service only what it is handed.
    part('http/tus', ['errors', 'basics', 'operations/quotas', 'config']),
    {
      name: 'view-reads-the-trash',
      severity: 'error',
      from: { path: `${SERVER}view/` },
      to: {
        path: `${SERVER}storage/trash/`,
        pathNot: `${SERVER}storage/trash/(trashed|trash-folder)\\.ts$`,
      },
    },
    {
      name: 'stages-are-called-by-carry-out',
      severity: 'error',
      from: { pathNot: `${SERVER}changes/` },
      to: {
        path: `${SERVER}changes/(events|rights|moved|follow|trash|store|create|transfer)\\.ts$`,
      },
    },
    {
      // What they read they get from a view, and what they change from carryOut.
      name: 'actions-ask-no-store-and-no-rules',
      severity: 'error',
      from: { path: `${SERVER}actions/` },
      to: {
        path: `${SERVER}(access|storage|operations|view/writable)`,
        pathNot: `${SERVER}storage/(about/about|entry|source-path)\\.ts$`,
      },
    },
    {
      name: 'views-only-read-stores',
      severity: 'error',
      from: { path: `${SERVER}view/`, pathNot: `${SERVER}view/(source-view|writable)\\.ts$` },
      to: {
        path: `${SERVER}(storage/(adapter|copy-tree|move-tree|location|staging|emptied-folders|index)|view/writable)\\.ts$`,
      },
    },
    {
      name: 'pictures-keep-derived-files-alone',
      severity: 'error',
      from: { path: `${SERVER}pictures/` },
      to: {
        path: `${SERVER}storage/`,
        pathNot: `${SERVER}storage/(about/about|entry|records|location|readable|source-path)\\.ts$`,
      },
    },
    {
      name: 'only-changes-write',
      severity: 'error',
      from: { pathNot: `${SERVER}(changes/|view/source-view\\.ts$)` },
      to: { path: `${SERVER}view/writable\\.ts$` },
    },
    {
      name: 'only-the-door-removes-and-restores',
      severity: 'error',
      from: { pathNot: `${SERVER}(changes|storage/trash)/|${SERVER}services\\.ts$` },
      to: { path: `${SERVER}storage/trash/trash\\.ts$` },
    },
    {
      name: 'one-adapter-never-names-another',
      severity: 'error',
      from: { path: `${SERVER}adapters/((?:objects/|remote/)?(?!core|paths|support)[^/]+)/` },
      to: {
        path: `${SERVER}adapters/`,
        pathNot: [
          `${SERVER}adapters/$1/`,
          `${SERVER}adapters/(support/|(objects|remote)/(core|paths)/|capabilities\\.ts$)`,
        ],
      },
    },
    {
      name: 'only-entries-import-the-connector',
      severity: 'error',
      from: { pathNot: `${SERVER}((app|router|connector|internals)\\.ts$|cli/)` },
      to: { path: `${SERVER}connector\\.ts$` },
    },
    {
      name: 'one-door-outward',
      severity: 'error',
      from: { pathNot: `${SERVER}(basics/network|adapters/(remote|objects)/(core|gcs|s3|webdav))/` },
      to: { path: '^(node:)?https$' },
    },
    only('browser', '^packages/browser/', []),
    only('html-docx', '^packages/html-docx/', []),
    {
      name: 'runs-in-browsers',
      severity: 'error',
      from: { path: '^packages/browser/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-peer', 'npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|/dist/' },
    exclude: { path: '/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node'] },
  },
};
