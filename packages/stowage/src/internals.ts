/**
 * Exports for tests that are not part of the public surface. Bundles do not expose single modules, so this
 * entry is built beside the public ones, shares their code, and is left out of the published package. Do not
 * use elsewhere.
 */
import { adapterTable } from './adapters/table.ts';

export const createS3Factory = adapterTable.s3.createFactory;
export const createWebdavFactory = adapterTable.webdav.createFactory;
export { compileRules } from './access/access.ts';
export { forBoth, isReservedName, requireFreeName, requireReachable } from './view/rights.ts';
export { accessKeyOf, defineAction, neededKeys } from './actions/action.ts';
export { FileAnswer } from './actions/file-answer.ts';
export { compileDateFormat } from './actions/listing/item.ts';
export { humanSize } from './basics/content/human-size.ts';
export { entryOrder } from './actions/listing/page.ts';
export { createNameReservations, takeFreeName } from './changes/names.ts';
export { createActions, ruleKeysOf } from './actions/registry.ts';
export { ZipStream } from './actions/zip/zip-stream.ts';
export { processState, readProcessMark } from './basics/files/temporary-folder.ts';
export { spool } from './storage/content.ts';
export { fromSystemError, systemCode } from './basics/files/system-errors.ts';
export { capabilitiesOf, declaredCapabilities } from './adapters/capabilities.ts';
export { lookByQuietPath } from './adapters/local/scanned-folder.ts';
export { HandleConfinement } from './adapters/local/confinement.ts';
export { createLocalFactory, openLocalAdapter } from './adapters/local/factory.ts';
export { restoreName } from './adapters/local/naming.ts';
export { ScanThread, ScanThreadMissing } from './adapters/local/scan-thread.ts';
export { MemoryAdapter, memoryFactory } from './adapters/memory/adapter.ts';
export { AzureAdapter } from './adapters/objects/azure/adapter.ts';
export { parseAzureOptions } from './adapters/objects/azure/options.ts';
export { GcsAdapter } from './adapters/objects/gcs/adapter.ts';
export { parseGcsOptions } from './adapters/objects/gcs/options.ts';
export { S3Adapter } from './adapters/objects/s3/adapter.ts';
export { KnownServices } from './adapters/objects/s3/known-services.ts';
export { parseS3Options } from './adapters/objects/s3/options.ts';
export { openFtpAdapter } from './adapters/remote/ftp/adapter.ts';
export { parseFtpOptions } from './adapters/remote/ftp/options.ts';
export { openSftpAdapter } from './adapters/remote/sftp/adapter.ts';
export { parseSftpOptions } from './adapters/remote/sftp/options.ts';
export { openWebdavAdapter } from './adapters/remote/webdav/adapter.ts';
export { parseWebdavOptions } from './adapters/remote/webdav/options.ts';
export { examineService, type DoctorOptions } from './cli/doctor/doctor.ts';
export type { Finding } from './cli/doctor/finding.ts';
export { explain } from './cli/explain.ts';
export { orAborted } from './basics/concurrency/abort.ts';
export {
  createYieldToLoop,
  FirstInOrder,
  TimeSlice,
  sortPatiently,
} from './basics/concurrency/time-slice.ts';
export { createSharedQueues, createTaskQueue } from './basics/concurrency/queues.ts';
export { loadAccessRules } from './config/access-rules.ts';
export { readBrowser } from './config/environment.ts';
export { loadConfig } from './config/load.ts';
export { settingsSchema, settingsShape } from './config/settings.ts';
export { loadSources } from './config/sources.ts';
export { configWarnings } from './config/warnings.ts';
export { checkConfiguration } from './checked-configuration.ts';
export {
  contentDisposition,
  isServerConfigName,
  sanitizeName,
  withExtension,
  withFileSuffix,
  withFolderSuffix,
  withSingleExtension,
  fileCopyNames,
  folderCopyNames,
  uploadNames,
} from './basics/content/file-name.ts';
export { extensionOf, hasAllowedExtension, splitExtension } from './basics/content/file-type.ts';
export { createDocuments } from './documents/create-documents.ts';
export { createDocumentResources } from './documents/document-resources.ts';
export { listingBudget, readMultistatus } from './adapters/remote/webdav/multistatus.ts';
export { ConverterThread } from './documents/docx/converter-thread.ts';
export { AccessDeniedError, InvalidParametersError, UnsafePathError } from './errors/errors.ts';
export { english, catalogues } from './errors/languages/languages.ts';
export { translated } from './errors/languages/phrases.ts';
export { detailedMessages, errorTable } from './errors/table.ts';
export { toNodeHandler } from './http/bridges/node.ts';
export { writeJson } from './http/representation.ts';
export { createPipeline } from './http/pipeline.ts';
export { listen } from './http/server.ts';
export { decodeBmp } from './pictures/bmp.ts';
export { createThumbnails } from './pictures/kept/create-thumbnails.ts';
export { decodeHeic } from './pictures/heic/open-heic.ts';
export { decodeIcoBitmap, readIco } from './pictures/ico.ts';
export { createImageEditor, createImagePool } from './pictures/image-editor.ts';
export { createPictureSizes } from './pictures/kept/sizes.ts';
export { createLineLogger, createSilentLogger, createTerminalLogger } from './basics/log/logger.ts';
export { isPublicAddress, reachOf } from './basics/network/checked-request.ts';
export { errorOfStatus, pause, strongEtag, wholeSize } from './adapters/remote/core/http.ts';
export { passBody } from './adapters/remote/core/body.ts';
export { Leftovers } from './adapters/remote/core/temporary.ts';
export { createConnectionSlots } from './adapters/remote/core/connections.ts';
export { SharedListings } from './adapters/remote/core/shared-listings.ts';
export { createQuotas } from './operations/quotas/quotas.ts';
export { createRemoteFetcher } from './basics/network/remote.ts';
export { derivedStoreOf } from './sources/derived-store.ts';
export { createSourceGroup } from './sources/source-group.ts';
export { TenantCache } from './sources/tenants.ts';
export { createEmbeddedState } from './operations/state/create-state.ts';
export { createFileQueue } from './operations/state/file-queue.ts';
export { createRedisConnection } from './operations/state/redis-connection.ts';
export { createRedisQueue } from './operations/state/redis-state.ts';
export { KnownRecords } from './storage/moved/known-records.ts';
export { createTrashRecords } from './storage/trash/record.ts';
export { copyFileTo } from './storage/copy-tree.ts';
export { createLocationLocks } from './storage/location.ts';
export { moveFileTo } from './storage/move-tree.ts';
export { createMemoryStaging } from './storage/staging.ts';
export { UnfinishedUploads } from './http/tus/unfinished-uploads.ts';
