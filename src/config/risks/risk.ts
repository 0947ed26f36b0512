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

/** One line for the log. */
export const riskLine = ({ key, text, fix }: SettingRisk): string => `${key}: ${text}. ${fix}`;
