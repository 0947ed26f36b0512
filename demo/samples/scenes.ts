import { between, createRandom, type Random } from './random.ts';

/** Size of a picture in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A picture that is drawn as SVG in any size. */
export type Scene = (size: Size) => string;

const n = (value: number): string => value.toFixed(1);

const frame = ({ width, height }: Size, definitions: string, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}">` +
  `<defs>${definitions}</defs>${body}</svg>`;

const gradient = (id: string, colours: readonly string[]): string => {
  const stops = colours.map(
    (colour, index) => `<stop offset="${n((index / (colours.length - 1)) * 100)}%" stop-color="${colour}"/>`,
  );
  return `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops.join('')}</linearGradient>`;
};

const glow = (id: string, colour: string): string =>
  `<radialGradient id="${id}"><stop offset="0%" stop-color="${colour}"/>` +
  `<stop offset="100%" stop-color="${colour}" stop-opacity="0"/></radialGradient>`;

const sky = (size: Size): string =>
  `<rect width="${n(size.width)}" height="${n(size.height)}" fill="url(#sky)"/>`;

/** The outline of hills from left to right: waves of several lengths, `rough` of them with edges. */
const ridge = (random: Random, size: Size, base: number, swing: number, rough: number): string => {
  const waves = Array.from({ length: 5 }, (_, octave) => ({
    length: size.width / (1.2 * 1.9 ** octave),
    height: swing / 1.8 ** octave,
    shift: random() * 7,
  }));
  const step = size.width / 160;
  const points = Array.from({ length: 162 }, (_, index) => {
    const x = index * step;
    const smooth = waves.reduce((sum, wave) => sum + Math.sin(x / wave.length + wave.shift) * wave.height, 0);
    return `${n(x)},${n(base - smooth - random() * rough)}`;
  });
  return `M0,${n(size.height)} L${points.join(' L')} L${n(size.width)},${n(size.height)} Z`;
};

/** Colours of a landscape: the sky from top to bottom, its light, and the hills from far to near. */
export interface Palette {
  readonly sky: readonly string[];
  readonly sun: string;
  readonly hills: readonly string[];
}

/** Hills behind hills under a low sun. */
export const landscape =
  (seed: number, palette: Palette, roughness = 0.012): Scene =>
  (size) => {
    const random = createRandom(seed);
    const { width, height } = size;
    const sunX = between(random, 0.25, 0.75) * width;
    const sunY = between(random, 0.3, 0.42) * height;
    const hills = palette.hills.map((colour, index) => {
      const depth = index / palette.hills.length;
      const outline = ridge(
        random,
        size,
        height * (0.56 + depth * 0.4),
        height * 0.055,
        height * roughness * (1.2 - depth),
      );
      return `<path d="${outline}" fill="${colour}"/>`;
    });
    return frame(
      size,
      gradient('sky', palette.sky) + glow('glow', palette.sun),
      `${sky(size)}<circle cx="${n(sunX)}" cy="${n(sunY)}" r="${n(height * 0.42)}" fill="url(#glow)" opacity="0.75"/>` +
        `<circle cx="${n(sunX)}" cy="${n(sunY)}" r="${n(height * 0.055)}" fill="${palette.sun}"/>${hills.join('')}`,
    );
  };

/** The sea with the sun's path on it. */
export const sea =
  (seed: number, palette: Palette): Scene =>
  (size) => {
    const random = createRandom(seed);
    const { width, height } = size;
    const horizon = height * 0.56;
    const sunX = width * 0.62;
    const glints = Array.from({ length: 260 }, () => {
      const depth = random() ** 1.4;
      const spread = (0.03 + depth * 0.16) * width;
      const x = sunX + between(random, -1, 1) * between(random, 0, spread);
      return (
        `<ellipse cx="${n(x)}" cy="${n(horizon + depth * (height - horizon))}" rx="${n(width * (0.006 + depth * 0.02))}"` +
        ` ry="${n(height * (0.001 + depth * 0.003))}" fill="${palette.sun}" opacity="${n(between(random, 0.15, 0.7))}"/>`
      );
    });
    const [far = '#234', near = '#012'] = palette.hills;
    return frame(
      size,
      gradient('sky', palette.sky) + gradient('sea', [far, near]) + glow('glow', palette.sun),
      `${sky(size)}<circle cx="${n(sunX)}" cy="${n(horizon)}" r="${n(height * 0.5)}" fill="url(#glow)" opacity="0.8"/>` +
        `<circle cx="${n(sunX)}" cy="${n(horizon)}" r="${n(height * 0.09)}" fill="${palette.sun}"/>` +
        `<rect y="${n(horizon)}" width="${n(width)}" height="${n(height - horizon)}" fill="url(#sea)"/>${glints.join('')}`,
    );
  };

const stars = (random: Random, size: Size, count: number): string =>
  Array.from(
    { length: count },
    () =>
      `<circle cx="${n(random() * size.width)}" cy="${n(random() * size.height * 0.6)}"` +
      ` r="${n(between(random, 0.5, 2.2))}" fill="#fff" opacity="${n(between(random, 0.2, 0.9))}"/>`,
  ).join('');

const house = (random: Random, size: Size, x: number, width: number, lit: number): string => {
  const top = size.height * between(random, 0.32, 0.72);
  const cell = size.height * 0.018;
  const columns = Math.floor(width / (cell * 1.7));
  const rows = Math.floor((size.height - top) / (cell * 2.2));
  const windows = Array.from({ length: columns * rows }, (_, index) => {
    if (random() > lit) return '';
    const left = x + cell * 0.7 + (index % columns) * cell * 1.7;
    const upper = top + cell + Math.floor(index / columns) * cell * 2.2;
    const colour = random() > 0.3 ? '#ffd98a' : '#fff3cf';
    return `<rect x="${n(left)}" y="${n(upper)}" width="${n(cell * 0.9)}" height="${n(cell * 1.2)}" fill="${colour}"/>`;
  });
  const wall = `<rect x="${n(x)}" y="${n(top)}" width="${n(width)}" height="${n(size.height - top)}" fill="#131a33"/>`;
  return wall + windows.join('');
};

/** Lit windows under the stars. */
export const city =
  (seed: number): Scene =>
  (size) => {
    const random = createRandom(seed);
    const houses: string[] = [];
    for (let x = -20; x < size.width;) {
      const width = between(random, 0.05, 0.1) * size.width;
      houses.push(house(random, size, x, width, 0.34));
      x += width + between(random, 0, 0.012) * size.width;
    }
    const moon = { x: size.width * 0.22, y: size.height * 0.2, r: size.height * 0.06 };
    return frame(
      size,
      gradient('sky', ['#0b1030', '#27306b', '#8a4f83']) + glow('glow', '#dfe6ff'),
      `${sky(size)}${stars(random, size, 140)}` +
        `<circle cx="${n(moon.x)}" cy="${n(moon.y)}" r="${n(moon.r * 3)}" fill="url(#glow)" opacity="0.4"/>` +
        `<circle cx="${n(moon.x)}" cy="${n(moon.y)}" r="${n(moon.r)}" fill="#f3f0dc"/>${houses.join('')}`,
    );
  };

/** Curtains of light over a dark ridge. */
export const aurora =
  (seed: number): Scene =>
  (size) => {
    const random = createRandom(seed);
    const { width, height } = size;
    const colours = ['#4dffb8', '#36d8c8', '#7af58a', '#8f7bff'];
    const curtains = Array.from({ length: 46 }, (_, index) => {
      const x = (index / 46) * width * 1.1 - width * 0.05;
      const top = height * (0.16 + 0.1 * Math.sin(index / 5 + seed) + random() * 0.06);
      const fill = colours[index % colours.length] ?? '#4dffb8';
      return `<rect x="${n(x)}" y="${n(top)}" width="${n(width * 0.035)}" height="${n(height * between(random, 0.3, 0.46))}" fill="${fill}" opacity="${n(between(random, 0.2, 0.5))}"/>`;
    });
    const blur = `<filter id="soft"><feGaussianBlur stdDeviation="${n(width * 0.012)} ${n(height * 0.05)}"/></filter>`;
    return frame(
      size,
      gradient('sky', ['#050b1f', '#0d2440', '#1c4a58']) + blur,
      `${sky(size)}${stars(random, size, 180)}<g filter="url(#soft)">${curtains.join('')}</g>` +
        `<path d="${ridge(random, size, height * 0.82, height * 0.06, height * 0.01)}" fill="#03101a"/>`,
    );
  };

/** Quarter circles on a grid, in the colours given. */
export const tiles =
  (seed: number, colours: readonly string[], columns = 6): Scene =>
  (size) => {
    const random = createRandom(seed);
    const side = size.width / columns;
    const pick = (): string => colours[Math.floor(random() * colours.length)] ?? '#000';
    const cells = Array.from({ length: columns * Math.ceil(size.height / side) }, (_, index) => {
      const x = (index % columns) * side;
      const y = Math.floor(index / columns) * side;
      const turn = Math.floor(random() * 4) * 90;
      return (
        `<g transform="translate(${n(x)} ${n(y)}) rotate(${n(turn)} ${n(side / 2)} ${n(side / 2)})">` +
        `<rect width="${n(side + 0.5)}" height="${n(side + 0.5)}" fill="${pick()}"/>` +
        `<path d="M0,0 H${n(side)} A${n(side)},${n(side)} 0 0 1 0,${n(side)} Z" fill="${pick()}"/></g>`
      );
    });
    return frame(size, '', cells.join(''));
  };

/** A leaf on nothing: shows that transparency is kept. */
export const leaf =
  (colour: string, vein: string): Scene =>
  (size) => {
    const { width, height } = size;
    const veins = Array.from({ length: 7 }, (_, index) => {
      const y = height * (0.8 - index * 0.09);
      const reach = width * (0.3 - Math.abs(index - 2.6) * 0.05);
      const rise = height * 0.09;
      return `M${n(width / 2)},${n(y)} l${n(-reach)},${n(-rise)} M${n(width / 2)},${n(y)} l${n(reach)},${n(-rise)}`;
    });
    const outline =
      `M${n(width / 2)},${n(height * 0.04)} C${n(width * 1.02)},${n(height * 0.3)} ${n(width * 0.9)},${n(height * 0.78)} ${n(width / 2)},${n(height * 0.88)}` +
      ` C${n(width * 0.1)},${n(height * 0.78)} ${n(width * -0.02)},${n(height * 0.3)} ${n(width / 2)},${n(height * 0.04)} Z`;
    return frame(
      size,
      '',
      `<path d="${outline}" fill="${colour}"/><path d="M${n(width / 2)},${n(height * 0.1)} V${n(height * 0.98)} ${veins.join(' ')}"` +
        ` stroke="${vein}" stroke-width="${n(width * 0.016)}" stroke-linecap="round" fill="none"/>`,
    );
  };
