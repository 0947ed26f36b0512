import type { Events } from '../operations/events/events.ts';
import type { ImageEditor } from '../pictures/image-editor.ts';
import type { Thumbnails } from '../pictures/kept/thumbnails.ts';
import type { Logger } from '../basics/log/logger.ts';
import type { Describer } from '../operations/describing/describer.ts';
import type { Inspector } from '../operations/inspection/inspector.ts';
import type { Quotas } from '../operations/quotas/quotas.ts';
import type { LocationLocks } from '../storage/location.ts';
import type { AboutKeeper } from '../storage/about/keeper.ts';
import type { NameMemory } from '../storage/moved/memory.ts';
import type { TrashKeeper } from '../storage/trash/keeper.ts';
import type { NameReservations } from './names.ts';

/** What the stages of a change work with: services shared by all requests of one connector. */
export interface ChangeServices {
  readonly thumbnails: Thumbnails;
  readonly images: ImageEditor;
  readonly reservations: NameReservations;
  /** Held by whatever takes entries away from their locations: moves and removals. */
  readonly locations: LocationLocks;
  readonly trash: TrashKeeper;
  /** The words about files. */
  readonly about: AboutKeeper;
  /** What has left which name, in sources that remember it. */
  readonly names: NameMemory;
  readonly events: Events;
  readonly quotas: Quotas;
  readonly inspector: Inspector;
  /** Undefined: the host has no hook for it. */
  readonly describer: Describer | undefined;
}

/** Who asks. */
export interface Requester {
  /** As in `X-Request-Id`. */
  readonly requestId: string;
  readonly role: string;
  /** The user, as far as the host says. */
  readonly subject: string | undefined;
}

/** What a change knows of its request. */
export interface ChangeContext {
  readonly requester: Requester;
  readonly services: ChangeServices;
  /** The id of the room that is kept for what the request stores. */
  readonly keptRoom?: string | undefined;
  /** Aborted when the client goes away or the service stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * Keeps the sources open beyond the request; returns the way to give them back, to be called exactly once.
   */
  readonly holdSources: () => () => void;
}
