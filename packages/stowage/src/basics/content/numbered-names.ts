import { splitExtension } from './extension.ts';
import { withFileSuffix, withFolderSuffix } from './file-name.ts';
import { withoutCase } from './letter-case.ts';

/** A name and its numbered variants, in the order in which they are tried. */
export interface NumberedNames {
  /** `at(0)` is the name itself. Never longer than 255 bytes. */
  at(number: number): string;
  /**
   * The number for which `at` gives this name, on request without regard to letter case; undefined when there
   * is none.
   */
  numberOf(name: string, ignoreCase: boolean): number | undefined;
}

const numbered = (
  at: (number: number) => string,
  digitsIn: (name: string) => string | undefined,
): NumberedNames => ({
  at,
  numberOf: (name, ignoreCase) => {
    const isNamed = (number: number): boolean =>
      ignoreCase ? withoutCase(at(number)) === withoutCase(name) : at(number) === name;
    if (isNamed(0)) return 0;
    const digits = digitsIn(name);
    if (digits === undefined || digits.length > 9) return undefined;
    // `a-01` has the number of `a-1` and is another name, so the way back decides.
    return isNamed(Number(digits)) ? Number(digits) : undefined;
  },
});

/** `name.ext`, `name-1.ext`, `name-2.ext`…: uploads that meet their own name. */
export const uploadNames = (name: string): NumberedNames =>
  numbered(
    (number) => (number === 0 ? name : withFileSuffix(name, `-${String(number)}`)),
    (other) => /-(\d+)$/u.exec(splitExtension(other).stem)?.[1],
  );

/** `name.ext`, `name (1).ext`, `name (2).ext`…: copies of files. */
export const fileCopyNames = (name: string): NumberedNames =>
  numbered(
    (number) => (number === 0 ? name : withFileSuffix(name, ` (${String(number)})`)),
    (other) => / \((\d+)\)$/u.exec(splitExtension(other).stem)?.[1],
  );

/** `name`, `name (1)`, `name (2)`…: copies of folders, whose names have no extension. */
export const folderCopyNames = (name: string): NumberedNames =>
  numbered(
    (number) => (number === 0 ? name : withFolderSuffix(name, ` (${String(number)})`)),
    (other) => / \((\d+)\)$/u.exec(other)?.[1],
  );
