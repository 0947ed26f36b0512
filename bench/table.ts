import type { Row } from './measurement.ts';

const number = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

const verdict = (ratio: number, aim: NonNullable<Row['aim']>): string => {
  const isMet = 'atMost' in aim ? ratio <= aim.atMost : ratio >= aim.atLeast;
  const wanted = 'atMost' in aim ? `<= ${String(aim.atMost)}` : `>= ${String(aim.atLeast)}`;
  return `${wanted} ${isMet ? 'met' : 'MISSED'}`;
};

const cells = ({ what, unit, ours, reference, aim }: Row): readonly string[] => {
  const ratio = reference === undefined ? undefined : ours / reference.value;
  return [
    what,
    `${number(ours)} ${unit}`,
    reference === undefined ? '' : `${number(reference.value)} ${unit}`,
    reference?.name ?? '',
    ratio === undefined ? '' : number(ratio),
    ratio === undefined || aim === undefined ? '' : verdict(ratio, aim),
  ];
};

/** The rows as a Markdown table with aligned columns. */
export const formatTable = (rows: readonly Row[]): string => {
  const lines = [['measurement', 'ours', 'limit', 'limit is', 'ratio', 'aim'], ...rows.map(cells)];
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  const written = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [written[0], rule, ...written.slice(1)].join('\n');
};
