/**
 * Stowage: the connector service that the file browser and uploader of a web editor call over HTTP.
 * `createApp` runs it alone, `createRouter` mounts it in a host application.
 */
export { createApp, defineConfig, type App, type AppOptions, type ServiceDefinition } from './app.ts';
export { createRouter, type Router, type RouterOptions } from './router.ts';
export type { ConnectorHooks, ResolvedTenant } from './hooks.ts';
export type { EventType, InspectionVerdict, ServiceEvent, WebhookFigures } from './config/event.ts';
export type { ConfigInput, SourceInput, SourcesInput, StorageAdapterOptions } from './config/types.ts';
export type { TextReference } from './config/types.ts';
export { readOnly, type AccessRule } from './config/access-rules.ts';
export { ConfigError, HttpError } from './errors/errors.ts';
export type { UsedFile } from './actions/action.ts';
export type { FileUse, FindUses } from './actions/file-uses.ts';
export type { FoundLink, LinksIn, RenewLinks, RenewOptions } from './actions/texts/text-links.ts';
export type { HookRequest, Identity, RequestObserver, RequestOutcome } from './http/message.ts';
export type { IconEntry, SvgGenerator } from './pictures/kept/thumbnails.ts';
export type { DescribedPicture, DescribePicture, PictureWords } from './operations/describing/describer.ts';
export type { InspectedUpload } from './operations/inspection/inspector.ts';
export type { Logger } from './basics/log/logger.ts';
export { registerStorageAdapter } from './storage/registry.ts';
export type { StorageFactory, StorageFactoryContext } from './storage/registry.ts';
export type { ListeningServer } from './http/server.ts';
export type { FetchHandler } from './http/bridges/fetch.ts';
export type { NodeHandler } from './http/bridges/node.ts';
