import type { Settings } from '../../config/settings.ts';

/** What programs draw: the first page of a document, or a frame of a film. */
export type PreviewKind = 'pdf' | 'video';

/** A program that the operator has named. */
export interface DrawingProgram {
  readonly kind: PreviewKind;
  /** A name in the folders of programs, or a whole path. */
  readonly command: string;
  /** Longest time for one file. */
  readonly seconds: number;
}

const EXTENSIONS: Readonly<Record<PreviewKind, readonly string[]>> = {
  pdf: ['pdf'],
  video: ['mp4', 'm4v', 'mov', '3gp', 'webm', 'mkv', 'avi', 'flv', 'wmv', 'mpg', 'mpeg', 'ogv'],
};

/** The programs of a source by the extensions of the files that they draw; empty unless some are named. */
export const drawingPrograms = ({
  thumbPrograms: { seconds, ...commands },
}: Pick<Settings, 'thumbPrograms'>): ReadonlyMap<string, DrawingProgram> =>
  new Map(
    (['pdf', 'video'] as const).flatMap((kind) => {
      const command = commands[kind];
      return command === undefined
        ? []
        : EXTENSIONS[kind].map((extension) => [extension, { kind, command, seconds }] as const);
    }),
  );
