import type { ActionServices } from './actions/action.ts';
import { LargeListings, OmittedEntries } from './actions/listing/large-listings.ts';
import { createShareNumbers } from './changes/names.ts';
import { createSearchCursors } from './actions/search/parameters.ts';
import { createSearchSlots } from './actions/search/search-source.ts';
import { createDocuments } from './documents/create-documents.ts';
import { createDescriber } from './operations/describing/describer.ts';
import { createEvents, createSinks } from './operations/events/events.ts';
import { createInspector } from './operations/inspection/inspector.ts';
import { inTimeLimit, orAborted } from './basics/concurrency/abort.ts';
import { createYieldToLoop } from './basics/concurrency/time-slice.ts';
import { createThumbnails } from './pictures/kept/create-thumbnails.ts';
import { createImageEditor, createImagePool } from './pictures/image-editor.ts';
import { createPictureSizes } from './pictures/kept/sizes.ts';
import { Quotas } from './operations/quotas/quotas.ts';
import { createRemoteFetcher } from './basics/network/remote.ts';
import { createLocationLocks } from './storage/location.ts';
import type { State } from './operations/state/state.ts';
import { AboutKeeper } from './storage/about/keeper.ts';
import { createNameMemory } from './storage/moved/memory.ts';
import { createTrashKeeper } from './storage/trash/keeper.ts';
import { readBrowser, readThreadPoolSize } from './config/environment.ts';
import type { ConnectorConfig } from './config/types.ts';
import { type ConnectorHooks, fromHook } from './hooks.ts';
import { createLinks } from './view/links.ts';
import type { Logger } from './basics/log/logger.ts';

/** Creates the services of the actions. Opens nothing and starts nothing except the queues of webhooks. */
export const createServices = (
  settings: ConnectorConfig['settings'],
  hooks: ConnectorHooks,
  state: State,
  log: Logger,
): ActionServices => {
  const remote = createRemoteFetcher({ log, userAgent: settings.remoteUserAgent });
  const locations = createLocationLocks();
  const quotas = new Quotas(state.records, log);
  const pool = createImagePool({ memory: settings.imageMemory, threads: readThreadPoolSize() });
  const about = new AboutKeeper(log);
  const focusOf = about.focusOf.bind(about);
  const pictureSizes = createPictureSizes(pool);
  const thumbnails = createThumbnails({
    log,
    pool,
    sizes: pictureSizes,
    focusOf,
    locations,
    svgGenerator: hooks.svgGenerator?.bind(hooks),
  });
  return {
    links: createLinks(settings.signingSecret ?? [], thumbnails),
    thumbnails,
    images: createImageEditor(pool),
    pictureSizes,
    shareNumbers: createShareNumbers(),
    locations,
    trash: createTrashKeeper(locations, log),
    about,
    names: createNameMemory(log),
    quotas,
    events: createEvents({
      before: hooks.beforeEvent && ((event) => fromHook('beforeEvent', () => hooks.beforeEvent?.(event))),
      after: hooks.onEvent && ((event) => hooks.onEvent?.(event)),
      sinks: createSinks(settings, state, log),
      log,
    }),
    unreported: new Set(),
    inspector: createInspector(
      hooks.inspectUpload && ((upload) => fromHook('inspectUpload', () => hooks.inspectUpload?.(upload))),
      log,
    ),
    describer: hooks.describePicture && createDescriber((picture) => hooks.describePicture?.(picture), log),
    largeListings: new LargeListings(),
    searchCursors: createSearchCursors(settings.signingSecret ?? []),
    searches: createSearchSlots(),
    yieldToLoop: createYieldToLoop(),
    omittedEntries: new OmittedEntries(),
    remote,
    findUses: hooks.findUses && ((file) => fromHook('findUses', () => hooks.findUses?.(file))),
    documents: createDocuments({ remote, log, browser: { ...readBrowser(), ...settings.documents } }),
  };
};

interface Closable {
  close(): Promise<void>;
}

/** Time limit of a step, longer than those of the host's hooks: a disk that hangs would block it forever. */
const STEP_MS = 12_000;
const late = (): Error => new Error('It has not ended in time.');

/**
 * Waits for requests, then closes uploads, descriptions of pictures, background work, event sinks, shared
 * state, and stores. A step that fails or exceeds its time is logged, and the next one starts.
 */
export const closeInOrder = async (
  { thumbnails, trash, names, quotas, events, documents, describer }: ActionServices,
  [requests, resumable]: readonly (Closable | undefined)[],
  state: Closable,
  { stores, log }: { readonly stores: readonly Closable[]; readonly log: Logger },
): Promise<void> => {
  const close = async (what: string, parts: readonly (Closable | undefined)[]): Promise<void> => {
    const closing = async (): Promise<unknown> => Promise.all(parts.map(async (part) => part?.close()));
    try {
      await inTimeLimit(STEP_MS, undefined, (signal) => orAborted(closing(), signal), late);
    } catch (error) {
      log.error('A part of the service could not be closed.', { what, error });
    }
  };
  await close('requests', [requests]);
  await close('uploads', [resumable]);
  await close('descriptions', [describer]);
  await close('work in the background', [thumbnails, trash, names, quotas]);
  await close('events', [events]);
  await close('state', [state]);
  await close('stores', [...stores, documents]);
};

/** Settings of an inspection: no audit log, webhooks, shared state, rate limits or resumable uploads. */
export const inspectionSettings = (settings: ConnectorConfig['settings']): ConnectorConfig['settings'] => ({
  ...settings,
  audit: undefined,
  webhooks: [],
  redis: undefined,
  rateLimits: undefined,
  tus: undefined,
});
