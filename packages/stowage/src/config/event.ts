/** What can happen to what a source holds. */
export const eventTypes = [
  'file.created',
  'file.replaced',
  'file.moved',
  'file.copied',
  'file.removed',
  'file.restored',
  'file.described',
  'folder.created',
  'folder.moved',
  'folder.copied',
  'folder.removed',
  'folder.restored',
  'trash.removed',
  'trash.emptied',
  'image.edited',
  'document.made',
] as const;

export type EventType = (typeof eventTypes)[number];

/** The result of the inspection of stored content: see `inspection` and the hook `inspectUpload`. */
export interface InspectionVerdict {
  /** `skipped`: clamd was not asked, or could not be. */
  readonly verdict: 'clean' | 'skipped';
  /** Of what was skipped: larger than `maxBytes`, or clamd was not available. */
  readonly reason?: 'larger' | 'unavailable';
}

/** Something that happens, or has happened, to what a source holds. Plain data. */
export interface ServiceEvent {
  readonly type: EventType;
  /** ISO 8601, in UTC. */
  readonly time: string;
  /** As in the answer's `X-Request-Id`, and in the log. */
  readonly requestId: string;
  /** Of the tenant, where `resolveSources` has given the source. */
  readonly tenant?: string | undefined;
  /** Name of the source; absent for documents. */
  readonly source?: string | undefined;
  /**
   * Inside the source, without a leading slash; of a document its name, of what leaves the trash for good where
   * it was, and of the whole trash empty.
   */
  readonly path: string;
  /** Where it was, or of what it is a copy or an edit. */
  readonly from?: string | undefined;
  /** The source of `from`, when it is another one. */
  readonly fromSource?: string | undefined;
  /** Of a file, and of a folder that goes into the trash, where it is known. */
  readonly bytes?: number | undefined;
  /**
   * Addresses of what has the path now: of a file, its thumbnail and its variants, without signatures; of a folder
   * the one that all in it begin with. Absent before it happens, and where nothing has an address.
   */
  readonly links?: readonly string[] | undefined;
  /** Addresses of what was moved, removed or restored, at which it is no longer. */
  readonly oldLinks?: readonly string[] | undefined;
  /** Of content that was inspected; of a folder `skipped` when any of its files was. */
  readonly inspection?: InspectionVerdict | undefined;
  readonly role: string;
  /** The user, as far as `checkAuthentication` says. */
  readonly subject?: string | undefined;
}

/** How a webhook does, as this process knows. */
export interface WebhookFigures {
  /** Of the receiver, with its port. */
  readonly host: string;
  /** Events that wait; undefined while the queue cannot be asked. */
  readonly waiting: number | undefined;
  /** Age of the oldest of them in seconds; 0 when none waits, undefined as `waiting`. */
  readonly oldestSeconds: number | undefined;
  /** Since the start: deliveries that were accepted, attempts that failed, and events that were lost. */
  readonly delivered: number;
  readonly failed: number;
  readonly dropped: number;
}

/** What takes events somewhere else. */
export interface EventSink {
  /** Takes an event; resolves when it will not get lost by a restart, as far as the sink promises that. */
  take(event: ServiceEvent): Promise<void>;
  /** How it does, for those who watch the service; absent where there is nothing to say. Never rejects. */
  figures?(): Promise<WebhookFigures>;
  close(): Promise<void>;
}
