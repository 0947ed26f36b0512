/** Unpacked pixels, row by row from the top, 8 bits a channel: RGB, or RGBA with straight alpha. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Pixels (or bytes of packed ones) that are unpacked before other requests get their turn: some milliseconds of work. */
export const STEPS_PER_TURN = 1_000_000;

/** True when there is an alpha channel and it is zero everywhere: what programs write that know none. */
export const hasEmptyAlpha = ({ data, channels }: Pixels): boolean => {
  if (channels === 3) return false;
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 0) return false;
  return true;
};
