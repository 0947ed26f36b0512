import type { Settings } from '../../config/settings.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { createRemotePoster } from '../../basics/network/post.ts';
import type { State } from '../state/state.ts';
import { createAuditFile } from './audit-file.ts';
import type { EventSink } from '../../config/event.ts';
import { createWebhook, type WebhookSettings } from './webhook.ts';

/** Where the settings want events to go. */
export const createSinks = (
  { audit, webhooks }: Pick<Settings, 'audit' | 'webhooks'>,
  state: State,
  log: Logger,
): readonly EventSink[] => {
  const sinks: EventSink[] = audit === undefined ? [] : [createAuditFile(audit.file, log)];
  const poster = createRemotePoster();
  // Several may have one address, with other secrets or types: each has a queue of its own.
  const numberOf = ({ url }: WebhookSettings, index: number): number =>
    webhooks.slice(0, index).filter((other) => other.url === url).length;
  return [
    ...sinks,
    ...webhooks.map((one, index) => createWebhook(one, { poster, state, log, number: numberOf(one, index) })),
  ];
};
