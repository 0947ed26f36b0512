/** Portrait sizes, as CSS lengths. */
const paperSizes = {
  A4: ['210mm', '297mm'],
  A3: ['297mm', '420mm'],
  Letter: ['8.5in', '11in'],
  Legal: ['8.5in', '14in'],
  Tabloid: ['11in', '17in'],
} as const satisfies Record<string, readonly [width: string, height: string]>;

export type PaperFormat = keyof typeof paperSizes;
export const paperFormats = Object.keys(paperSizes) as [PaperFormat, ...PaperFormat[]];

export const orientations = ['portrait', 'landscape'] as const;
export type Orientation = (typeof orientations)[number];

/**
 * The wanted page. What is undefined may be said by the document's own `@page` rules, else it is A4 and
 * portrait.
 */
export interface Paper {
  readonly format: PaperFormat | undefined;
  readonly orientation: Orientation | undefined;
}

/** Width and height as CSS lengths. */
export interface PageSize {
  readonly width: string;
  readonly height: string;
}

/** The size of a page with this paper. */
export const pageSizeOf = ({ format, orientation }: Paper): PageSize => {
  const [short, long] = paperSizes[format ?? 'A4'];
  return orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long };
};

/** Whether the caller has chosen, so that `@page { size }` of the document must not. */
export const isChosen = ({ format, orientation }: Paper): boolean =>
  format !== undefined || orientation !== undefined;
