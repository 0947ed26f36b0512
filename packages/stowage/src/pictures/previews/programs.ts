import type { ChildProcess } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { readProgramFolders } from '../../config/environment.ts';
import type { Settings } from '../../config/settings.ts';

/** What programs draw: the first page of a document, or a frame of a film. */
type PreviewKind = 'pdf' | 'video';

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

/** Whether the process may run the file. */
export const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The whole path of a program: as it is, or in the folders of PATH. Undefined when it cannot be run. */
export const findProgram = async (command: string): Promise<string | undefined> => {
  const names = process.platform === 'win32' ? [command, `${command}.exe`] : [command];
  const paths = isAbsolute(command)
    ? [command]
    : readProgramFolders().flatMap((folder) => names.map((name) => join(folder, name)));
  for (const path of paths) if (await isExecutable(path)) return path;
  return undefined;
};

/** Ends a process that leads a group of its own on POSIX systems, with all that it has started in it. */
export const killGroup = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
};

/** Pixels of the longer side of what a program draws. */
const MAX_SIDE = 2048;

/** How files of a kind are drawn. */
export interface PreviewCommand {
  /**
   * Bytes from the start of a file that are read. Of a longer one also those of `tail`, unless it has none.
   */
  readonly head: number;
  readonly tail: number;
  /** The program's arguments for a file that begins so; undefined when it is not of this kind. */
  readonly args: (file: string, beginning: Buffer, side: number) => readonly string[] | undefined;
}

const MB = 1024 * 1024;

const sideOf = (wanted: number): string => String(Math.min(Math.ceil(wanted), MAX_SIDE));

/** Programs look for the signature in the first kilobyte. */
const isPdf = (beginning: Buffer): boolean => beginning.subarray(0, 1024).includes('%PDF-');

const pdf: PreviewCommand = {
  head: 64 * MB,
  tail: 0,
  args: (file, beginning, side) =>
    isPdf(beginning)
      ? ['-f', '1', '-l', '1', '-singlefile', '-scale-to', sideOf(side), '-png', file]
      : undefined,
};

/** Containers by what they begin with, each with the name of the only reader that may open it. */
const CONTAINERS: readonly (readonly [reader: string, beginning: RegExp])[] = [
  ['mov', /^.{4}(?:ftyp|moov|mdat|wide|free|skip|pnot)/su],
  ['matroska', /^\u001aE\u00df\u00a3/u],
  ['avi', /^RIFF.{4}AVI /su],
  ['flv', /^FLV\u0001/u],
  ['asf', /^0&\u00b2u\u008ef\u00cf\u0011/u],
  ['ogg', /^OggS/u],
  ['mpeg', /^\u0000\u0000\u0001\u00ba/u],
];

/** The decoders that cameras, phones and pages need; the rarer ones are hardly maintained. */
const DECODERS =
  'h264,hevc,vp8,vp9,libdav1d,libaom-av1,av1,mpeg4,msmpeg4,msmpeg4v2,mpeg1video,mpeg2video,h263,flv,vp6f,wmv1,wmv2,wmv3,vc1,theora,mjpeg,prores';

/** Frames from the start of which the one is taken that is most like the others: no black one, no flash. */
const FRAMES = 48;

const scaled = (side: string): string =>
  [
    // As it is seen, with pixels that are not square, and never larger than it is.
    `scale=w='max(1,min(min(${side},${side}*dar),iw*sar))':h='max(1,min(min(${side},${side}/dar),ih))'`,
    'setsar=1',
    `thumbnail=${String(FRAMES)}`,
    'format=rgb24',
  ].join(',');

/**
 * One reader, chosen by us: a playlist that is called a film would name other files and addresses. The only
 * protocol is that of files, and the readers that may open further ones are not asked to.
 */
const videoArgs = (reader: string, file: string, side: string): readonly string[] => [
  ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
  ...['-f', reader, '-format_whitelist', reader, '-protocol_whitelist', 'file', '-codec_whitelist', DECODERS],
  ...['-max_pixels', '100000000', '-threads', '1', '-i', `file:${file}`],
  ...['-map', '0:V:0', '-an', '-sn', '-dn', '-frames:v', '1', '-filter_threads', '1', '-vf', scaled(side)],
  ...['-threads', '1', '-c:v', 'png', '-f', 'image2pipe', 'pipe:1'],
];

const video: PreviewCommand = {
  // The first frames lie at the start; the index of a film lies there or at the end.
  head: 24 * MB,
  tail: 16 * MB,
  args: (file, beginning, side) => {
    const start = beginning.toString('latin1', 0, 16);
    const [reader] = CONTAINERS.find(([, pattern]) => pattern.test(start)) ?? [];
    return reader === undefined ? undefined : videoArgs(reader, file, sideOf(side));
  },
};

/** What is read and run for each kind of files. */
export const commands: Readonly<Record<PreviewKind, PreviewCommand>> = { pdf, video };
