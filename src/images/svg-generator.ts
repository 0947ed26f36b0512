/** What an icon generator learns of the item that it draws for. */
export interface IconEntry {
  /** Inside the source, without a leading slash: `reports/2026.pdf`. */
  readonly path: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  /** Bytes; undefined for folders and where the store does not report it. */
  readonly size: number | undefined;
}

/**
 * Hook: draws the icon of a folder or of a file that is no image. Returns SVG markup; whatever it writes into it (names above all)
 * it must escape. Called once per item, again when the item has changed. When it throws, the default icon is used.
 */
export type SvgGenerator = (entry: IconEntry, width: number, height: number) => string | Promise<string>;
