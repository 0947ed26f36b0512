/** Jodit and a Stowage connector, for pages: `stowage/jodit`. It imports nothing; `Jodit` is handed in. */
import { joditConfig } from './config.ts';
import type { Connection } from './connection.ts';
import type { JoditClass } from './editor.ts';

export { browseFiles } from './browse.ts';
export { joditConfig, type JoditConfig } from './config.ts';
export type { Connection } from './connection.ts';
export type { Chosen, InsertingEditor, JoditClass } from './editor.ts';

/**
 * Makes an editor that uploads to the connector, and opens the picker where Jodit would open its own file
 * browser. The style sheet `stowage/jodit.css` belongs to it.
 *
 *     const editor = connectJodit(Jodit, '#editor', { url: '/connector' });
 */
export const connectJodit = <Made, Options extends object>(
  Jodit: JoditClass<Made, Options>,
  element: HTMLElement | string,
  connection: Connection,
  options?: Options,
): Made => Jodit.make(element, joditConfig(connection, options) as unknown as Options);
