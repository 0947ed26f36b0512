import type { Thumbnails } from '../../pictures/kept/thumbnails.ts';
import type { Links } from '../../view/links.ts';
import type { SourceView } from '../../view/source-view.ts';
import type { SourceViews } from '../../view/source-views.ts';

/** A request for a file itself, not for an action. */
export interface ServingRequest {
  /** The source, as the one who asks may see it; of others than protected sources, as everybody may. */
  readonly view: SourceView;
  /**
   * All sources with their addresses, as the one who asks may see them: whom protected ones have asked for a name,
   * else with `isAsking` too.
   */
  readonly viewsFor: (isAsking: boolean) => Promise<SourceViews>;
  /** The path below the source, decoded segment by segment. */
  readonly segments: readonly string[];
  /** Without `?`. Only a signature is read from it. */
  readonly query: string;
  readonly signal: AbortSignal;
  /** A GET without ranges and conditions: the file may be opened without a look at it before. */
  readonly isPlain: boolean;
}

/** What serving needs of its connector. */
export interface ServingServices {
  readonly thumbnails: Thumbnails;
  readonly links: Links;
}
