/** The named colours of CSS Color 4, as `name hex` pairs. */
const NAMES = `aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000
blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e
coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b
darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00
darkorchid 9932cc darkred 8b0000 darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f
darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff
firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520
gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0
khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080
lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a
lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0
lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3
mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc
mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080
oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98
paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd powderblue b0e0e6
purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460
seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090
snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee
wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32 canvastext 000000 canvas ffffff`;

const named: ReadonlyMap<string, string> = new Map(
  [...NAMES.matchAll(/([a-z]+) ([0-9a-f]{6})/gu)].map(([, name = '', hex = '']) => [name, hex]),
);

const clamp = (value: number): number => Math.min(255, Math.max(0, Math.round(value)));
const hexOf = (channels: readonly number[]): string =>
  channels.map((value) => clamp(value).toString(16).padStart(2, '0')).join('');

/** The result of a translucent colour on white paper; undefined when it is transparent. */
const onPaper = (channels: readonly number[], alpha: number): string | undefined =>
  alpha <= 0
    ? undefined
    : hexOf(channels.map((value) => value * Math.min(1, alpha) + 255 * (1 - Math.min(1, alpha))));

const fromHex = (digits: string): string | undefined => {
  const long = digits.length <= 4 ? digits.replaceAll(/./gu, '$&$&') : digits;
  const [red = 0, green = 0, blue = 0, alpha = 255] = (long.match(/../gu) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  );
  return onPaper([red, green, blue], alpha / 255);
};

const portion = (text: string, whole: number): number =>
  text.endsWith('%') ? (Number.parseFloat(text) / 100) * whole : Number.parseFloat(text);

const hslChannels = (hue: number, saturation: number, lightness: number): readonly number[] =>
  [0, 8, 4].map((offset) => {
    const step = (offset + hue / 30) % 12;
    const chroma = saturation * Math.min(lightness, 1 - lightness);
    return 255 * (lightness - chroma * Math.max(-1, Math.min(step - 3, 9 - step, 1)));
  });

/** @see https://www.w3.org/TR/css-color-4/#color-conversion-code */
const oklchChannels = (lightness: number, chroma: number, hue: number): readonly number[] => {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const [l, m, s] = [
    (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3,
  ];
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map(
    (value) => 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055),
  );
};

const channelsOf = (
  name: string,
  [one, two, three]: readonly [string, string, string],
): readonly number[] => {
  if (name === 'oklch') return oklchChannels(portion(one, 1), portion(two, 0.4), Number.parseFloat(three));
  if (!name.startsWith('hsl')) return [portion(one, 255), portion(two, 255), portion(three, 255)];
  return hslChannels(((Number.parseFloat(one) % 360) + 360) % 360, portion(two, 1), portion(three, 1));
};

const fromFunction = (name: string, body: string): string | undefined => {
  const [one = '', two = '', three = '', alpha = '1'] = body.split(/[\s,/]+/u).filter((part) => part !== '');
  const channels = channelsOf(name, [one, two, three]);
  const opacity = portion(alpha, 1);
  return [...channels, opacity].some(Number.isNaN) ? undefined : onPaper(channels, opacity);
};

/**
 * Parses a CSS colour to six hexadecimal digits in lower case; translucent ones are blended with white.
 * Undefined for `transparent`, `inherit` and invalid colours.
 */
export const parseColor = (text: string): string | undefined => {
  const value = text.trim().toLowerCase();
  const hex = /^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/u.exec(value)?.[1];
  if (hex !== undefined) return fromHex(hex);
  const [, name, body] = /^(rgba?|hsla?|oklch)\(([^()]*)\)$/u.exec(value) ?? [];
  if (name !== undefined && body !== undefined) return fromFunction(name, body);
  return named.get(value);
};
