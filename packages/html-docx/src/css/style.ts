import { ROOT_SIZE, type Length } from './length.ts';
import type { Variables } from './variables.ts';

export interface Sides<Value> {
  readonly top: Value;
  readonly right: Value;
  readonly bottom: Value;
  readonly left: Value;
}

/** A visible border. */
export interface Border {
  readonly style: string;
  /** Points. */
  readonly width: number;
  /** Six hexadecimal digits. */
  readonly color: string;
}

export type TextAlign = 'start' | 'end' | 'left' | 'right' | 'center' | 'justify';

/** Inherited properties. */
export interface InheritedStyle {
  readonly color: string | undefined;
  readonly fontFamily: string | undefined;
  /** Points. */
  readonly fontSize: number;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly strike: boolean;
  readonly smallCaps: boolean;
  readonly transform: string;
  /** Additional space between letters in points. */
  readonly letterSpacing: number;
  readonly lineHeight: { readonly factor: number } | { readonly points: number } | undefined;
  readonly align: TextAlign;
  /** Whether `align` moves tables too, as that of `<center>` and of `align` attributes. */
  readonly movesTables: boolean;
  readonly rtl: boolean;
  readonly whiteSpace: string;
  readonly listType: string;
  readonly textIndent: number;
  readonly lang: string | undefined;
  readonly visible: boolean;
  /** Background of inline elements; nested text inherits it. */
  readonly textBackground: string | undefined;
  readonly script: 'sub' | 'super' | undefined;
  readonly variables: Variables;
}

/** The computed style of an element. Lengths are in points. */
export interface Style extends InheritedStyle {
  readonly display: string;
  readonly background: string | undefined;
  readonly margin: Sides<number>;
  /** True when left and right margins are `auto`: the box is centred. */
  readonly centered: boolean;
  readonly padding: Sides<number>;
  readonly border: Sides<Border | undefined>;
  readonly width: Length | undefined;
  readonly height: Length | undefined;
  readonly maxWidth: Length | undefined;
  readonly float: 'left' | 'right' | undefined;
  readonly verticalAlign: string;
  readonly breakBefore: boolean;
  readonly breakAfter: boolean;
}

/** What `read` returns for each side. */
export const sidesOf = <Value>(read: (side: keyof Sides<unknown>) => Value): Sides<Value> => ({
  top: read('top'),
  right: read('right'),
  bottom: read('bottom'),
  left: read('left'),
});

/** The same for each side. */
export const sides = <Value>(value: Value): Sides<Value> => sidesOf(() => value);

/** Initial style of the page. */
export const initialStyle: Style = {
  color: undefined,
  fontFamily: undefined,
  fontSize: ROOT_SIZE,
  bold: false,
  italic: false,
  underline: false,
  strike: false,
  smallCaps: false,
  transform: 'none',
  letterSpacing: 0,
  lineHeight: undefined,
  align: 'start',
  movesTables: false,
  rtl: false,
  whiteSpace: 'normal',
  listType: 'disc',
  textIndent: 0,
  lang: undefined,
  visible: true,
  textBackground: undefined,
  script: undefined,
  variables: () => undefined,
  display: 'inline',
  background: undefined,
  margin: sides(0),
  centered: false,
  padding: sides(0),
  border: sides(undefined),
  width: undefined,
  height: undefined,
  maxWidth: undefined,
  float: undefined,
  verticalAlign: 'baseline',
  breakBefore: false,
  breakAfter: false,
};

/** Whether an element is a block-level box, not inline. */
export const isBlock = ({ display, float }: Style): boolean =>
  float !== undefined || !/^(?:inline|contents|none|ruby)/u.test(display);
