export interface Finding {
  /** Id of the check, for programs: `store.write`. */
  readonly check: string;
  /** `broken`: does not work. `risk`: works, but should be reviewed. `note`: no action needed. */
  readonly level: 'ok' | 'note' | 'risk' | 'broken';
  readonly source?: string | undefined;
  /** One line. */
  readonly text: string;
  /** One line that fixes it. */
  readonly fix?: string | undefined;
}

/** Findings of one check, about one source or none. */
export class Findings {
  readonly all: Finding[] = [];
  readonly #source: string | undefined;

  constructor(source?: string) {
    this.#source = source;
  }

  ok(check: string, text: string): void {
    this.all.push({ check, level: 'ok', source: this.#source, text });
  }

  note(check: string, text: string): void {
    this.all.push({ check, level: 'note', source: this.#source, text });
  }

  risk(check: string, text: string, fix: string): void {
    this.all.push({ check, level: 'risk', source: this.#source, text, fix });
  }

  broken(check: string, text: string, fix: string): void {
    this.all.push({ check, level: 'broken', source: this.#source, text, fix });
  }

  leftBehind(name: string): void {
    this.risk('left-behind', `${name} is left in the root of the source`, 'Remove it yourself.');
  }
}

const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/gu, ' ').trim();

const MARKS = { ok: 'ok    ', note: 'note  ', risk: 'RISK  ', broken: 'BROKEN' } as const;

const textOf = ({ level, source, text, fix }: Finding): string => {
  const about = source === undefined ? '' : `${source}: `;
  const lines = [`${MARKS[level]}  ${oneLine(about + text)}`];
  if (fix !== undefined) lines.push(`        fix: ${oneLine(fix)}`);
  return lines.join('\n');
};

export const countBroken = (findings: readonly Finding[]): number =>
  findings.filter(({ level }) => level === 'broken').length;

/** A readable report of all findings, with the worst ones last, where a terminal shows them. */
export const report = (findings: readonly Finding[]): string => {
  const ordered = (['ok', 'note', 'risk', 'broken'] as const).flatMap((level) =>
    findings.filter((finding) => finding.level === level),
  );
  const broken = countBroken(findings);
  const risks = findings.filter(({ level }) => level === 'risk').length;
  const counts = `${String(broken)} broken, ${String(risks)} risk${risks === 1 ? '' : 's'}.`;
  const end = broken + risks === 0 ? 'Nothing is wrong.' : counts;
  return [...ordered.map(textOf), '', end].join('\n');
};

/** The innermost reason of a failure: a code of the operating system or store, else its message. */
export const reasonOf = (error: unknown): string => {
  const words: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 6; one = one.cause, depth += 1) {
    const { name, code, detail, message } = one as Error & { code?: unknown; detail?: unknown };
    const isNamed = !['Error', 'TypeError', 'AggregateError'].includes(name) && !/Error$/u.test(name);
    for (const word of [typeof detail === 'string' ? detail : message, code, isNamed ? name : undefined])
      if (typeof word === 'string' && !words.join('; ').includes(word)) words.push(word);
  }
  return words.length === 0 ? String(error) : oneLine(words.slice(0, 4).join('; ')).slice(0, 200);
};

/** Matches reasons that concern the certificate of a server. */
export const UNTRUSTED = /(?:self-signed|first|issuer) certificate|certificate(?:'s| has)|SELF_SIGNED|CERT_/u;
/** Fixes them, where no setting names the authorities. */
export const TRUSTED =
  'Give the server a certificate that is trusted for this host, with all intermediate ones.';
