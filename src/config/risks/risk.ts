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
  const at = [...one].findIndex((letter, index) => letter !== other[index]);
  const swapped = `${one.slice(0, at)}${one[at + 1] ?? ''}${one[at] ?? ''}${one.slice(at + 2)}`;
  return at !== -1 && swapped === other && /^\p{L}{2}$/u.test(one.slice(at, at + 2));
};

/** One line for the log. */
export const riskLine = ({ key, text, fix }: SettingRisk): string => `${key}: ${text}. ${fix}`;
