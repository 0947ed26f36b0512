import type { ChildProcess } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { succeeds } from '../../basics/files/system-errors.ts';
import { readProgramFolders } from '../../config/environment.ts';
import type { Settings } from '../../config/settings.ts';

/** Kinds of previews: the first page of a document, or a frame of a video. */
type PreviewKind = 'pdf' | 'video';

/** A program from the configuration. */
export interface DrawingProgram {
  readonly kind: PreviewKind;
  /** A name in the folders of PATH, or an absolute path. */
  readonly command: string;
  /** Time limit for one file. */
  readonly seconds: number;
}

const EXTENSIONS: Readonly<Record<PreviewKind, readonly string[]>> = {
  pdf: ['pdf'],
  video: ['mp4', 'm4v', 'mov', '3gp', 'webm', 'mkv', 'avi', 'flv', 'wmv', 'mpg', 'mpeg', 'ogv'],
};

/** The programs of a source by extension of the files that they draw; empty unless configured. */
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

/** Whether the process may execute the file. */
export const isExecutable = (path: string): Promise<boolean> => succeeds(access(path, constants.X_OK));

/** The absolute path of a program, configured or in the folders of PATH; undefined if not executable. */
export const findProgram = async (command: string): Promise<string | undefined> => {
  const names = process.platform === 'win32' ? [command, `${command}.exe`] : [command];
  const paths = isAbsolute(command)
    ? [command]
    : readProgramFolders().flatMap((folder) => names.map((name) => join(folder, name)));
  for (const path of paths) if (await isExecutable(path)) return path;
  return undefined;
};

/** Kills a process that leads its own group on POSIX systems, with all processes of the group. */
export const killGroup = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
};

/** Maximum longer side of a preview in pixels. */
const MAX_SIDE = 2048;

/** How files of a kind are drawn. */
export interface PreviewCommand {
  /** Bytes that are read from the start of a file; of a longer one also `tail` from its end. */
  readonly head: number;
  readonly tail: number;
  /** The program's arguments for a file with this beginning; undefined when it is of another kind. */
  readonly args: (file: string, beginning: Buffer, side: number) => readonly string[] | undefined;
}

const MB = 1024 * 1024;

const sideOf = (wanted: number): string => String(Math.min(Math.ceil(wanted), MAX_SIDE));

/** Programs search the first kilobyte for the signature. */
const isPdf = (beginning: Buffer): boolean => beginning.subarray(0, 1024).includes('%PDF-');

const pdf: PreviewCommand = {
  head: 64 * MB,
  tail: 0,
  args: (file, beginning, side) =>
    isPdf(beginning)
      ? ['-f', '1', '-l', '1', '-singlefile', '-scale-to', sideOf(side), '-png', file]
      : undefined,
};

/** Containers by their first bytes, each with the name of the only demuxer that may open it. */
const CONTAINERS: readonly (readonly [reader: string, beginning: RegExp])[] = [
  ['mov', /^.{4}(?:ftyp|moov|mdat|wide|free|skip|pnot)/su],
  ['matroska', /^\u001aE\u00df\u00a3/u],
  ['avi', /^RIFF.{4}AVI /su],
  ['flv', /^FLV\u0001/u],
  ['asf', /^0&\u00b2u\u008ef\u00cf\u0011/u],
  ['ogg', /^OggS/u],
  ['mpeg', /^\u0000\u0000\u0001\u00ba/u],
];

/** Decoders that cameras, phones and pages need; rarer ones are poorly maintained. */
const DECODERS =
  'h264,hevc,vp8,vp9,libdav1d,libaom-av1,av1,mpeg4,msmpeg4,msmpeg4v2,mpeg1video,mpeg2video,h263,flv,vp6f,wmv1,wmv2,wmv3,vc1,theora,mjpeg,prores';

/** Number of first frames, of which the most typical is chosen: not a black one, not a flash. */
const FRAMES = 48;

const scaled = (side: string): string =>
  [
    // In display aspect ratio, also for non-square pixels, and never enlarged.
    `scale=w='max(1,min(min(${side},${side}*dar),iw*sar))':h='max(1,min(min(${side},${side}/dar),ih))'`,
    'setsar=1',
    `thumbnail=${String(FRAMES)}`,
    'format=rgb24',
  ].join(',');

/**
 * A single demuxer that we choose: a playlist disguised as a video could refer to other files and addresses.
 * The only protocol is that of files, and options with which a demuxer would open further files are not set.
 */
const videoArgs = (reader: string, file: string, side: string): readonly string[] => [
  ...['-nostdin', '-hide_banner', '-loglevel', 'error'],
  ...['-f', reader, '-format_whitelist', reader, '-protocol_whitelist', 'file', '-codec_whitelist', DECODERS],
  ...['-max_pixels', '100000000', '-threads', '1', '-i', `file:${file}`],
  ...['-map', '0:V:0', '-an', '-sn', '-dn', '-frames:v', '1', '-filter_threads', '1', '-vf', scaled(side)],
  ...['-threads', '1', '-c:v', 'png', '-f', 'image2pipe', 'pipe:1'],
];

const video: PreviewCommand = {
  // The first frames are at the start; the index of a video is at the start or the end.
  head: 24 * MB,
  tail: 16 * MB,
  args: (file, beginning, side) => {
    const start = beginning.toString('latin1', 0, 16);
    const [reader] = CONTAINERS.find(([, pattern]) => pattern.test(start)) ?? [];
    return reader === undefined ? undefined : videoArgs(reader, file, sideOf(side));
  },
};

export const commands: Readonly<Record<PreviewKind, PreviewCommand>> = { pdf, video };
