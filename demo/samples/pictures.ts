import { bmp, gif, ico, jpeg, phoneJpeg, png, webp } from './encode.ts';
import { aurora, city, landscape, leaf, sea, tiles, type Palette } from './scenes.ts';

/** A file of the demo: where it lies below its source, and how its bytes are made. */
export interface Sample {
  readonly path: string;
  readonly make: () => Promise<Buffer>;
}

const camera = { width: 1800, height: 1200 };
const phone = { width: 1200, height: 1600 };

const dawn: Palette = {
  sky: ['#2b3a67', '#b56576', '#eaac8b', '#ffe2c4'],
  sun: '#fff1d6',
  hills: ['#9d7f97', '#7b6a8a', '#56537a', '#393f63', '#20274a'],
};
const noon: Palette = {
  sky: ['#4a90d9', '#9cc9ee', '#e9f4fb'],
  sun: '#ffffff',
  hills: ['#9fc4c9', '#7fb09b', '#5b9770', '#3e7a4f', '#265a36'],
};
const desert: Palette = {
  sky: ['#f6b26b', '#f9d29d', '#fdeccf'],
  sun: '#fffbe8',
  hills: ['#e8b06d', '#d99550', '#c27a39', '#a25f2a', '#7d451d'],
};
const winter: Palette = {
  sky: ['#7c93b2', '#b9c9dc', '#eef3f8'],
  sun: '#fdfdf6',
  hills: ['#dbe5ee', '#c1d0de', '#9fb3c8', '#728ba6', '#475e7a'],
};
const dusk: Palette = {
  sky: ['#1d2350', '#6b3f7d', '#d7638b', '#ffb38a'],
  sun: '#ffe3b0',
  hills: ['#6d3b72', '#4c2f63', '#332653', '#1f1b3e', '#120f29'],
};
const evening: Palette = {
  sky: ['#21386b', '#c86f6a', '#ffc27d'],
  sun: '#fff0c9',
  hills: ['#a9615f', '#1a2547'],
};
const afterglow: Palette = { ...dusk, hills: ['#a34a6e', '#1a1436'] };
const morning: Palette = {
  sky: ['#86b8e0', '#cfe6f2', '#fff4d8'],
  sun: '#fffdf0',
  hills: ['#86b9c9', '#1f5a78'],
};

const warm = ['#e4572e', '#f3a712', '#f5f0e6', '#29335c', '#669bbc'];
const calm = ['#264653', '#2a9d8f', '#e9c46a', '#f4f1de', '#e76f51'];
const mono = ['#0f172a', '#334155', '#94a3b8', '#f1f5f9', '#38bdf8'];

/** The sign of the project, drawn by hand: boxes stowed on a shelf. */
const sign =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240" width="480" height="480"><title>Boxes on a shelf</title>' +
  '<rect width="240" height="240" rx="44" fill="#0f766e"/><g fill="#f0fdfa"><rect x="48" y="60" width="64" height="52" rx="6"/>' +
  '<rect x="128" y="44" width="64" height="68" rx="6" opacity=".75"/><rect x="48" y="136" width="96" height="52" rx="6" opacity=".75"/>' +
  '<rect x="160" y="152" width="32" height="36" rx="6"/></g><g stroke="#99f6e4" stroke-width="8" stroke-linecap="round">' +
  '<path d="M36 120h168M36 196h168"/></g></svg>\n';

/** The sample pictures: every format that the file browser shows, in a few folders. */
export const pictures: readonly Sample[] = [
  { path: 'archive/harbour-1962.jpg', make: () => jpeg(sea(11, winter), { width: 1200, height: 900 }) },
  {
    path: 'archive/quarry-1958.jpg',
    make: () => jpeg(landscape(71, winter, 0.03), { width: 1200, height: 900 }),
  },
  { path: 'patterns/coast.png', make: () => png(tiles(5, calm), { width: 900, height: 900 }) },
  { path: 'patterns/market.png', make: () => png(tiles(8, warm), { width: 900, height: 900 }) },
  { path: 'patterns/slate.webp', make: () => webp(tiles(21, mono, 8), { width: 1200, height: 900 }) },
  { path: 'landscapes/dunes.jpg', make: () => jpeg(landscape(4, desert, 0.002), camera) },
  { path: 'landscapes/first-snow.jpg', make: () => jpeg(landscape(13, winter, 0.02), camera) },
  { path: 'landscapes/green-valley.jpg', make: () => jpeg(landscape(6, noon), camera) },
  { path: 'landscapes/northern-lights.jpg', make: () => jpeg(aurora(3), camera) },
  { path: 'landscapes/last-light.jpg', make: () => jpeg(landscape(29, dusk, 0.02), camera) },
  { path: 'landscapes/coast/calm-morning.jpg', make: () => jpeg(sea(2, morning), camera) },
  { path: 'landscapes/coast/evening-tide.jpg', make: () => jpeg(sea(9, evening), camera) },
  { path: 'Zürich 都市/Bahnhofstraße bei Nacht.jpg', make: () => jpeg(city(17), camera) },
  { path: 'Zürich 都市/夜の街.jpg', make: () => jpeg(city(31), camera) },
  { path: 'icon.ico', make: () => ico(tiles(2, calm, 3), [16, 32, 48, 256]) },
  { path: 'bitmap.bmp', make: () => bmp(tiles(14, warm, 4), { width: 400, height: 300 }) },
  { path: 'sign.svg', make: async () => Buffer.from(sign) },
  {
    path: 'moving-tiles.gif',
    make: () =>
      gif(
        [1, 2, 3, 4, 5, 6].map((seed) => tiles(seed, calm, 4)),
        { width: 480, height: 320 },
        400,
      ),
  },
  { path: 'leaf.png', make: () => png(leaf('#4d9e5b', '#e3f4d7'), { width: 640, height: 800 }) },
  { path: 'poster.webp', make: () => webp(tiles(40, warm, 5), { width: 1000, height: 1400 }) },
  { path: 'city-at-night.jpg', make: () => jpeg(city(5), camera) },
  { path: 'sunset.jpg', make: () => jpeg(sea(7, afterglow), camera) },
  { path: 'from-my-phone.jpg', make: () => phoneJpeg(landscape(52, dusk), phone) },
  { path: 'mountain-dawn.jpg', make: () => jpeg(landscape(1, dawn), camera) },
];
