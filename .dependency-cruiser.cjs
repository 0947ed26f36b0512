/**
 * The arrows of the house. A request walks http -> parameters -> actions -> view or changes -> storage (port);
 * adapters and engines stand behind ports and only connector.ts joins everything.
 */
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: [from, ...allowed] },
});

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    only('errors-import-nothing', '^src/errors/', []),
    only('content', '^src/content/', ['^src/errors/']),
    only('log', '^src/log/', []),
    only('concurrency', '^src/concurrency/', ['^src/errors/']),
    only('storage-port', '^src/storage/', ['^src/(errors|content|log|concurrency|adapter-support)/']),
    only('adapter-support', '^src/adapter-support/', ['^src/(errors|log|storage)/']),
    only('adapters', '^src/adapters/', [
      '^src/(storage|adapter-support|concurrency|object-store|remote-store|network|errors|content|log|testing)/',
    ]),
    only('remote-store', '^src/remote-store/', [
      '^src/(storage|adapter-support|concurrency|errors|content|log)/',
    ]),
    only('object-store', '^src/object-store/', [
      '^src/(storage|adapter-support|concurrency|remote-store|errors|content|log)/',
    ]),
    {
      name: 'only-adapters-import-the-object-store',
      severity: 'error',
      from: { pathNot: '^src/(adapters|object-store)/' },
      to: { path: '^src/object-store/' },
    },
    only('config', '^src/config/', [
      '^src/(errors|content|storage|log)/',
      '^src/adapters/(table|[^/]+/options)\\.ts$',
      '^src/events/event\\.ts$',
    ]),
    only('sources', '^src/sources/', ['^src/(storage|concurrency|config|errors|content|log)/']),
    only('links', '^src/links/', ['^src/(sources|storage/source-path|config|errors)']),
    only('access', '^src/access/', ['^src/(storage/source-path|errors|content)', '^src/config/']),
    only('images', '^src/images/', [
      '^src/(storage|concurrency|sources|config|errors|content|log)/',
      '^src/adapter-support/temporary-folder\\.ts$',
    ]),
    only('trash', '^src/trash/', ['^src/(storage|concurrency|errors|log)/']),
    only('quotas', '^src/quotas/', ['^src/(storage|state|concurrency|errors|content|log)/']),
    only('state', '^src/state/', ['^src/(concurrency|errors|log)/']),
    only('events', '^src/events/', ['^src/(concurrency|errors|log|remote|state)/', '^src/config/']),
    only('network', '^src/network/', []),
    only('remote', '^src/remote/', ['^src/(errors|content|log|concurrency|network)/']),
    only('docx', '^src/docx/', []),
    only('documents', '^src/documents/', [
      '^src/(docx|remote|errors|content|log|images|concurrency)/',
      '^src/adapter-support/temporary-folder\\.ts$',
    ]),
    only('parameters', '^src/parameters/', ['^src/(storage/source-path|errors|content)']),
    // The two doors: what is read, and what changes.
    only('view', '^src/view/', [
      '^src/(storage|access|sources|images|config|errors|content)/',
      '^src/trash/(trashed|sweep|trash-folder)\\.ts$',
    ]),
    only('changes', '^src/changes/', [
      '^src/(view|storage|trash|events|quotas|concurrency|sources|access|images|config|errors|content|log)/',
    ]),
    only('actions', '^src/actions/', [
      '^src/(view|changes|storage|concurrency|sources|links|access|parameters|images|documents|remote|config|errors|content|log)/',
    ]),
    {
      name: 'stages-are-called-by-carry-out',
      severity: 'error',
      from: { pathNot: '^src/changes/' },
      to: {
        path: '^src/changes/(events|rights|lock|thumbnails|trash|store|create|relocate|transfer)\\.ts$',
      },
    },
    {
      name: 'actions-only-read-stores',
      severity: 'error',
      from: { path: '^src/(actions|view)/', pathNot: '^src/view/(open-source|writable)\\.ts$' },
      to: {
        path: '^src/(storage/(adapter|copy-tree|move-tree|location-locks|staging|memory-staging|emptied-folders|index)|view/writable)\\.ts$',
      },
    },
    {
      name: 'only-changes-write',
      severity: 'error',
      from: { pathNot: '^src/(changes/|view/open-source\\.ts$)' },
      to: { path: '^src/view/writable\\.ts$' },
    },
    {
      name: 'only-the-door-removes-and-restores',
      severity: 'error',
      from: { pathNot: '^src/(changes|trash)/' },
      to: { path: '^src/trash/trash\\.ts$' },
    },
    // The protocol of uploads in parts: knows HTTP, and of the service only what it is handed.
    only('tus', '^src/tus/', ['^src/(errors|log|quotas|concurrency|adapter-support|config)/']),
    only('http', '^src/http/', [
      '^src/(tus|links|parameters|access|actions|view|changes|quotas|state|sources|config|errors|content|log|storage|concurrency)/',
    ]),
    only('client', '^src/client/', []),
    only('jodit', '^src/jodit/', []),
    {
      name: 'runs-in-browsers',
      severity: 'error',
      from: { path: '^src/(client|jodit)/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-peer', 'npm-dev'] },
    },
    only('testing', '^src/testing/', ['^src/(storage|errors|content|log)/']),
    {
      name: 'one-adapter-never-names-another',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: '^src/adapters/$1/' },
    },
    {
      name: 'only-entries-import-the-connector',
      severity: 'error',
      from: { pathNot: '^src/(app|router|connector|internals)\\.ts$|^src/cli/' },
      to: { path: '^src/connector\\.ts$' },
    },
    {
      name: 'one-door-outward',
      severity: 'error',
      from: { pathNot: '^src/(remote|remote-store|adapters/(gcs|s3|webdav))/' },
      to: { path: '^(node:)?https$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node'] },
  },
};
