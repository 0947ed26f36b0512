/** A setting that is accepted and probably not meant, or that opens more than it seems to. */
export interface SettingRisk {
  /** Dotted: `sources.photos.root`. */
  readonly key: string;
  /** What comes of it; follows the key. */
  readonly text: string;
  /** One sentence that says what to write. */
  readonly fix: string;
  /** It is about requests without a login, of which `doctor` has a check of its own. */
  readonly isOfStrangers?: true;
}

/** Whether two texts differ by two neighbouring letters that changed places: `jepg`, `jpeg`. */
export const isTransposed = (one: string, other: string): boolean => {
  if (one.length !== other.length) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return (
    one[at + 1] === other[at] &&
    one[at] === other[at + 1] &&
    one.slice(at + 2) === other.slice(at + 2) &&
    /^\p{L}{2}$/u.test(one.slice(at, at + 2))
  );
};

/** One line for the log. */
export const riskLine = ({ key, text, fix }: SettingRisk): string => `${key}: ${text}. ${fix}`;
