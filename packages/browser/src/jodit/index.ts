/**
 * Connects Jodit with a Stowage connector in pages: `stowage/jodit`. It has no dependencies; `Jodit` is
 * passed as an argument.
 */
import { joditConfig } from './config.ts';
import type { Connection } from './connection.ts';
import type { JoditClass } from './editor.ts';

export { browseFiles } from './browse.ts';
export { joditConfig, type JoditConfig } from './config.ts';
export type { Connection } from './connection.ts';
export type { Chosen, InsertingEditor, JoditClass } from './editor.ts';

/**
 * Creates an editor that uploads to the connector, and opens the picker where Jodit would open its own file
 * browser. It needs the style sheet `stowage/jodit.css`.
 *
 *     const editor = connectJodit(Jodit, '#editor', { url: '/connector' });
 */
export const connectJodit = <Made, Options extends object>(
  Jodit: JoditClass<Made, Options>,
  element: HTMLElement | string,
  connection: Connection,
  options?: Options,
): Made => Jodit.make(element, joditConfig(connection, options) as unknown as Options);
