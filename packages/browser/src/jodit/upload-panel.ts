import { make, makeButton } from './element.ts';
import { counted, fill, type Texts } from './texts/texts.ts';

/** One running upload as the person sees it. */
export interface UploadRow {
  /** Bytes that have left, and all of them. */
  readonly progress: (sent: number, total: number) => void;
  /** While something else is shown in its place. */
  readonly hide: (isHidden: boolean) => void;
  readonly done: () => void;
}

/** What a person wants of an upload that has broken off. */
export type Again = 'again' | 'leave';

/** The running uploads of an editor, one row each. */
export interface UploadPanel {
  readonly element: HTMLElement;
  add(names: readonly string[], cancel: () => void): UploadRow;
  /** Shows that an upload has broken off, and why, until the person has decided. */
  brokeOff(reason: string): Promise<Again>;
  /** Shows that something takes its time, of which there is no measure. */
  wait(label: string, cancel: () => void): Pick<UploadRow, 'done'>;
}

const megabytes = (locale: string): ((bytes: number) => string) => {
  const format = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: 'megabyte',
    maximumFractionDigits: 1,
    minimumFractionDigits: 1,
  });
  return (bytes) => format.format(bytes / 1_000_000);
};

/** An upload that has broken off, and what can be done. */
const brokenRow = (
  texts: Texts,
  reason: string,
  take: (row: HTMLElement) => void,
  decide: (what: Again) => void,
): HTMLElement => {
  const button = (what: Again, className: string, text: string): HTMLElement =>
    makeButton(
      `stowage-upload__cancel ${className}`,
      () => {
        take(row);
        decide(what);
      },
      { text },
    );
  const row = make('div', 'stowage-upload stowage-upload_broken', {
    attributes: { role: 'alert' },
    children: [
      make('span', 'stowage-upload__reason', { text: `${texts.brokeOff} ${reason}` }),
      button('again', 'stowage-upload__again', texts.tryAgain),
      button('leave', '', texts.cancel),
    ],
  });
  return row;
};

/**
 * Jodit 4.15.13 draws a line of two pixels in the editor, behind the file browser that the person looks at.
 * Here is a bar with the number of files, what has left and what is to come, and a button that breaks it off.
 */
export const createUploadPanel = (texts: Texts): UploadPanel => {
  const element = make('div', 'stowage-uploads', { attributes: { dir: texts.direction } });
  const size = megabytes(texts.locale);
  // The focus stays in the panel when the row that has it gives way to the next.
  let hadFocus = false;
  const show = (row: HTMLElement): void => {
    element.append(row);
    if (hadFocus) row.querySelector('button')?.focus();
    hadFocus = false;
  };
  const take = (row: HTMLElement): void => {
    hadFocus = row.contains(document.activeElement);
    row.remove();
  };
  const addRow = (label: string, cancel: () => void) => {
    const bar = make('progress', 'stowage-upload__bar', { attributes: { max: '1', 'aria-label': label } });
    const amount = make('span', 'stowage-upload__amount');
    const row = make('div', 'stowage-upload', {
      children: [
        make('span', 'stowage-upload__label', { text: label, attributes: { role: 'status' } }),
        bar,
        amount,
        makeButton('stowage-upload__cancel', cancel, { text: texts.cancel }),
      ],
    });
    show(row);
    return { row, bar, amount };
  };
  return {
    element,
    brokeOff: (reason) => new Promise((decide) => show(brokenRow(texts, reason, take, decide))),
    wait: (label, cancel) => {
      const { row } = addRow(label, cancel);
      return { done: () => take(row) };
    },
    add: (names, cancel) => {
      const label =
        names.length === 0
          ? texts.fetching
          : counted(texts, texts.uploading, names.length, { name: names[0] ?? '' });
      const { row, bar, amount } = addRow(label, cancel);
      return {
        progress: (sent, total) => {
          if (sent < total) {
            bar.value = sent / total;
            amount.textContent = fill(texts.sent, { sent: size(sent), total: size(total) });
          } else {
            // The connector makes files of it now, for which there is no measure.
            bar.removeAttribute('value');
            amount.textContent = names.length === 0 ? '' : texts.storing;
          }
        },
        hide: (isHidden) => {
          if (isHidden) hadFocus = row.contains(document.activeElement);
          row.style.display = isHidden ? 'none' : '';
          if (!isHidden && hadFocus) row.querySelector('button')?.focus();
        },
        done: () => take(row),
      };
    },
  };
};
