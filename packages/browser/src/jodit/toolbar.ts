import type { FileBrowser } from './editor.ts';

/** A button of the file browser's toolbar, as Jodit describes its own. */
export interface Tool {
  readonly name: string;
  readonly icon: string;
  readonly tooltip: string;
  readonly isDisabled: () => boolean;
  readonly exec: () => void;
}

/** Adds a button behind those of Jodit, before the file browser is opened. */
export type AddTool = (tool: Tool) => void;

/** One list for all: of several answers to this event Jodit 4.15.13 takes the last one. */
export const createTools = ({ e }: FileBrowser): AddTool => {
  const tools: Tool[] = [];
  e.on('beforeToolbarBuild', (buttons: readonly unknown[]) => [...buttons, ...tools]);
  return (tool) => tools.push(tool);
};
