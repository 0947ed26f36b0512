import { boxStyle } from './box-style.ts';
import { parseColor } from './color.ts';
import { parseDeclarations, winningValues } from './declarations.ts';
import { defaultDeclarations } from './defaults.ts';
import { presentationHints } from './hints.ts';
import type { Located } from './selector.ts';
import { isBlock, type Style } from './style.ts';
import type { StyleRules } from './stylesheet.ts';
import { fontSizeOf, letterStyle, lineStyle } from './text-style.ts';
import { resolved, variablesOf, type Variables } from './variables.ts';

type Values = ReadonlyMap<string, string>;

/** The winning value of each property among all declarations for an element. */
const winners = (located: Located, rules: StyleRules): Values =>
  winningValues([
    ...defaultDeclarations(located.node.tag),
    ...parseDeclarations(presentationHints(located)),
    ...rules.for(located),
    ...parseDeclarations(located.node.attributes.get('style') ?? ''),
  ]);

const scriptOf = (verticalAlign: string, parent: Style): Style['script'] =>
  verticalAlign === 'sub' || verticalAlign === 'super' ? verticalAlign : parent.script;

const withVariables = (values: Values, variables: Variables): Values =>
  [...values.values()].some((value) => value.includes('var('))
    ? new Map([...values].map(([property, value]) => [property, resolved(value, variables)] as const))
    : values;

/** Computes the style of an element from its parent's style and all declarations. */
export const computeStyle = (located: Located, parent: Style, rules: StyleRules): Style => {
  const declared = winners(located, rules);
  const variables = variablesOf(declared, parent.variables);
  const values = withVariables(declared, variables);
  const fontSize = fontSizeOf(values.get('font-size'), parent.fontSize);
  const letters = letterStyle(values, parent, fontSize);
  const box = boxStyle(values, fontSize, letters.color);
  const background = parseColor(values.get('background-color') ?? '');
  const style: Style = {
    ...letters,
    ...lineStyle(values, parent, fontSize),
    ...box,
    fontSize,
    display: values.get('display')?.toLowerCase() ?? 'inline',
    background,
    variables,
    lang: located.node.attributes.get('lang') ?? parent.lang,
    textBackground: parent.textBackground,
    script: parent.script,
  };
  if (isBlock(style)) return { ...style, textBackground: undefined, script: undefined };
  return {
    ...style,
    textBackground: background ?? parent.textBackground,
    script: scriptOf(box.verticalAlign, parent),
  };
};
