/** Most text that a form may carry to the connector, with some room for the other fields. */
const LIMIT = 960 * 1024;

/** Longest sides that pictures are brought down to, until the document fits. */
const SIDES = [1400, 1000, 700, 450, 250];

const load = async (url) => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`The picture ${url} cannot be loaded.`);
  return createImageBitmap(await answer.blob());
};

const asDataUrl = (bitmap, side, type) => {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d').drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL(type, 0.82);
};

/**
 * The document with its own pictures inside. The connector loads pictures only from public addresses, never from this machine,
 * which is where the demo keeps its files.
 */
const withPictures = async (html, filesUrl) => {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const own = [...page.images].filter((image) => new URL(image.src, location.href).href.startsWith(filesUrl));
  const bitmaps = new Map();
  for (const image of own) {
    const url = new URL(image.src, location.href).href;
    // A picture that cannot be drawn here stays as it is; the connector leaves out what it cannot load.
    if (!bitmaps.has(url)) bitmaps.set(url, await load(url).catch(() => undefined));
    image.dataset.url = url;
    const bitmap = bitmaps.get(url);
    if (bitmap !== undefined && !image.hasAttribute('width') && !image.style.width)
      image.width = bitmap.width;
  }
  for (const side of SIDES) {
    for (const image of own) {
      const bitmap = bitmaps.get(image.dataset.url);
      const type = /\.jpe?g$/iu.test(image.dataset.url) ? 'image/jpeg' : 'image/png';
      if (bitmap !== undefined) image.src = asDataUrl(bitmap, side, type);
    }
    if (page.body.innerHTML.length < LIMIT) break;
  }
  for (const image of own) delete image.dataset.url;
  return page.body.innerHTML;
};

const messageOf = async (answer) => {
  try {
    const { data } = await answer.json();
    if (data.messages.length > 0) return data.messages.join(' ');
  } catch {
    // No envelope: a proxy between page and connector has answered.
  }
  return `The connector answered with status ${answer.status}.`;
};

const save = (blob, name) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download has its own hold on the bytes as soon as it has begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

/**
 * Lets the connector make a document of some HTML and hands it to the browser as a download.
 *
 * @param {{ connector: string, filesUrl: string, action: 'generatePdf' | 'generateDocx', html: string, options?: Record<string, string> }} job
 * @throws Error with a message for people
 */
export const downloadDocument = async ({ connector, filesUrl, action, html, options = {} }) => {
  const form = new FormData();
  form.append('html', await withPictures(html, filesUrl));
  for (const [name, value] of Object.entries(options)) form.append(`options[${name}]`, value);
  const answer = await fetch(connector + action, { method: 'POST', body: form }).catch(() => {
    throw new Error('The connector cannot be reached.');
  });
  if (!answer.ok || answer.headers.get('content-type')?.startsWith('application/json')) {
    throw new Error(await messageOf(answer));
  }
  save(await answer.blob(), action === 'generatePdf' ? 'document.pdf' : 'document.docx');
};
