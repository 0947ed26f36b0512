import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/logger.ts';
import { createRemotePoster } from '../remote/post.ts';
import { createAuditFile } from './audit-file.ts';
import type { EventSink } from './event.ts';
import { createWebhook } from './webhook.ts';

/** Where the settings want events to go. */
export const createSinks = (
  { audit, webhooks, stateDirectory }: Pick<Settings, 'audit' | 'webhooks' | 'stateDirectory'>,
  log: Logger,
): readonly EventSink[] => {
  const sinks: EventSink[] = audit === undefined ? [] : [createAuditFile(audit.file, log)];
  // Checked with the configuration.
  if (stateDirectory === undefined) return sinks;
  const poster = createRemotePoster();
  return [...sinks, ...webhooks.map((one) => createWebhook(one, { poster, stateDirectory, log }))];
};
