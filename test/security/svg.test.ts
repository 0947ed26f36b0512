import { monitorEventLoopDelay } from 'node:perf_hooks';
import { SaxesParser } from 'saxes';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { boxOf } from '../protocol/images.ts';
import { formOf, startService, type Service } from '../protocol/service.ts';
import { startSite } from '../network/loopback.ts';
import { attacks, documentOf, malformed } from './svg-vectors.ts';

/** The ways in by which an SVG file can be stored as `a.svg`; each gives the status. */
const waysIn: Readonly<Record<string, (service: Service, svg: Buffer) => Promise<number>>> = {
  fileUpload: async (service, svg) =>
    (await service.upload([['files[0]', 'a.svg', new Uint8Array(svg)]])).status,
  imageSave: async ({ url }, svg) => {
    const body = formOf([['files[0]', 'blob', new Uint8Array(svg)]], { name: 'a.svg' });
    return (await fetch(`${url}/imageSave`, { method: 'POST', body })).status;
  },
  fileUploadRemote: async (service, svg) => {
    const site = await startSite((_, response) => response.end(svg));
    onTestFinished(site.close);
    return (await service.call('fileUploadRemote', { url: `${site.origin}/a.svg` })).status;
  },
};

const start = (settings: object = {}): Promise<Service> =>
  startService({ allowPrivateNetworkUploads: true, ...settings });

/**
 * Everything that a browser would see of the stored document: names of elements, and attributes with their
 * values.
 */
const inspect = (
  svg: string,
): { readonly elements: string[]; readonly attributes: [string, string][]; readonly css: string } => {
  const elements: string[] = [];
  const attributes: [string, string][] = [];
  let css = '';
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', (tag) => {
    expect(tag.uri).toBe('http://www.w3.org/2000/svg');
    elements.push(tag.local);
    for (const { name, value } of Object.values(tag.attributes)) attributes.push([name, value]);
  });
  parser.on('text', (text) => {
    if (elements.at(-1) === 'style') css += text;
  });
  parser.on('comment', () => expect.fail('a comment was kept'));
  parser.on('processinginstruction', () => expect.fail('a processing instruction was kept'));
  parser.on('doctype', () => expect.fail('a document type was kept'));
  parser.write(svg).close();
  return { elements, attributes, css };
};

const expectHarmless = (svg: string): void => {
  const { elements, attributes, css } = inspect(svg);
  const dangerous =
    /^(?:script|handler|listener|foreignObject|iframe|embed|object|audio|video|html|body|metadata)$/iu;
  expect(elements.filter((name) => dangerous.test(name))).toEqual([]);
  for (const [name, value] of attributes) {
    if (name.startsWith('xmlns')) continue;
    expect(name).not.toMatch(/^(?:on|xml:base$|.*:on)/iu);
    if (/href$/iu.test(name)) expect(value).toMatch(/^#/u);
    expect(`${name}=${value}`).not.toMatch(
      /attacker|script|data:|file:|expression|\\|@import|binding|alert/iu,
    );
  }
  expect(css).not.toMatch(/attacker|script|@import|expression|binding|behavior|\\|alert/iu);
};

describe.each(Object.entries(waysIn))('SVG files that come in by %s', (_, send) => {
  it('are cleaned of every attack, and keep what draws', async () => {
    const service = await start({ saveSameFileNameStrategy: 'replace' });
    for (const [name, markup] of Object.entries(attacks)) {
      expect([name, await send(service, Buffer.from(documentOf(markup)))]).toEqual([name, 200]);
      const stored = await service.source('files').text('a.svg');
      try {
        expectHarmless(stored);
        expect(stored).toContain('<rect id="kept" width="40" height="20" fill="#123456"/>');
      } catch (error) {
        throw new Error(`${name}: ${stored}`, { cause: error });
      }
    }
  });

  it('are refused when they are malformed, and nothing is stored', async () => {
    const service = await start();
    for (const [name, svg] of Object.entries(malformed)) {
      const bytes = Buffer.from(svg);
      const bad = bytes.indexOf('\u{fffd}BAD');
      if (bad >= 0) bytes.fill(0xff, bad, bad + 3);
      expect([name, await send(service, bytes)]).toEqual([name, 400]);
    }
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('are left as they come when the source says so', async () => {
    const service = await start({ sanitizeSvg: false });
    const svg = Buffer.from(documentOf(attacks['a script'] ?? ''));
    expect(await send(service, svg)).toBe(200);
    expect(await service.source('files').text('a.svg')).toBe(svg.toString());
  });
});

describe('cleaned drawings', () => {
  const store = async (svg: string | Buffer, settings: object = {}): Promise<string> => {
    const service = await start(settings);
    const bytes = new Uint8Array(Buffer.from(svg));
    const { status } = await service.upload([['files[0]', 'a.SVG', bytes]]);
    expect(status).toBe(200);
    return service.source('files').text('a.SVG');
  };

  const drawing = `<?xml version="1.0" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<!-- Generator: some program -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:i="urn:inkscape" width="200" height="120" viewBox="0 0 200 120">
  <i:view zoom="1"/><metadata><a/></metadata>
  <title>R&amp;D &lt;2026&gt;</title>
  <defs>
    <linearGradient id="Безымянный_градиент_2" x1="0" x2="1"><stop offset="0%" stop-color="#e63"/><stop offset="1" style="stop-color:rgb(250, 200, 40);stop-opacity:.9"/></linearGradient>
    <radialGradient id="cold" xlink:href="#Безымянный_градиент_2" cx="50%"/>
    <clipPath id="cut"><circle cx="50" cy="50" r="40"/></clipPath>
    <filter id="soft"><feGaussianBlur stdDeviation="2"/><feOffset dx="1" dy="1"/></filter>
    <pattern id="dots" width="8" height="8" patternUnits="userSpaceOnUse"><circle cx="4" cy="4" r="2" fill="navy"/></pattern>
    <symbol id="leaf" viewBox="0 0 10 10"><path d="M0 0C5 0 10 5 10 10 5 10 0 5 0 0z"/></symbol>
    <style type="text/css"><![CDATA[
      /* a comment with @import */
      .band { fill: url(#Безымянный_градиент_2); stroke: #123; stroke-width: 2px; }
      rect[class="dotted"], #last > .x { fill: url('#dots') }
      @media (min-width: 10px) { .dark { fill: hsl(220, 60%, 30%) } }
    ]]></style>
  </defs>
  <rect class="band" width="200" height="30"/>
  <rect class="dotted" y="30" width="100" height="30"/>
  <g clip-path="url(#cut)" transform="translate(100 20) rotate(5)"><rect width="100" height="100" fill="url(#cold)"/></g>
  <use href="#leaf" x="10" y="70" width="40" height="40" class="dark"/>
  <image x="60" y="70" width="30" height="30" xlink:href="data:image/png;base64,@PNG@"/>
  <path filter="url(#soft)" d="M120 90l20-20 20 20z" style="fill:#383;fill-opacity:0.5;stroke:black"/>
</svg>`;

  const withPicture = async (): Promise<string> => {
    const red = { create: { width: 4, height: 4, channels: 3 as const, background: '#d00000' } };
    return drawing.replace('@PNG@', (await sharp(red).png().toBuffer()).toString('base64'));
  };

  it('look as they did: gradients, styles, clips, filters, patterns, symbols, embedded pictures', async () => {
    const svg = await withPicture();
    const cleaned = await store(svg);
    const [before, after] = await Promise.all(
      [svg, cleaned].map((text) => sharp(Buffer.from(text)).ensureAlpha().raw().toBuffer()),
    );
    expect(before?.equals(after ?? Buffer.alloc(0))).toBe(true);
    expect(cleaned).toContain('<title>R&amp;D &lt;2026&gt;</title>');
    expect(cleaned).not.toMatch(/DOCTYPE|Generator|metadata|inkscape|<\?xml/u);
  });

  it('stay as they are when they are cleaned again', async () => {
    const once = await store(await withPicture());
    expect(await store(once)).toBe(once);
  });

  it('keep animations that only draw, and embedded fonts', async () => {
    const cleaned = await store(
      documentOf(
        '<style>@keyframes spin { from { transform: rotate(0) } to { transform: rotate(360deg) } } ' +
          '@font-face { font-family: "My Font"; src: url("data:font/woff2;base64,AAAA") format("woff2"); } ' +
          'g { animation: spin 2s linear infinite }</style>' +
          '<g><animateTransform attributeName="transform" type="rotate" values="0 5 5;360 5 5" dur="1s" repeatCount="indefinite"/>' +
          '<animate attributeName="fill" values="#f00;rgb(0,255,0);blue" dur="2s"/><animateMotion path="M0 0L9 9" dur="1s"/></g>',
      ),
    );
    for (const kept of [
      '@keyframes spin{',
      'rotate(360deg)',
      'data:font/woff2;base64,AAAA',
      'values="0 5 5;360 5 5"',
      'values="#f00;rgb(0,255,0);blue"',
      'path="M0 0L9 9"',
    ]) {
      expect(cleaned).toContain(kept);
    }
  });

  it('may come in UTF-16 or Latin-1, and become UTF-8', async () => {
    const text = '<svg xmlns="http://www.w3.org/2000/svg"><text>Grüße</text></svg>';
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    const latin = Buffer.from(`<?xml version="1.0" encoding="ISO-8859-1"?>${text}`, 'latin1');
    for (const bytes of [utf16, latin]) expect(await store(bytes)).toContain('<text>Grüße</text>');
  });

  it('may name UTF-16 as their encoding without being in it, as .NET writes them', async () => {
    const drawing = documentOf('<text>Grüße</text>').replace('UTF-8', 'utf-16');
    expect(await store(drawing)).toContain('<text>Grüße</text>');
  });

  it('keep fonts and classes whose names are not English, as Office and Illustrator write them', async () => {
    const cleaned = await store(
      documentOf(
        '<style>.фон,#круг{fill:red;font-family:微软雅黑,sans-serif}.ｕｒｌ{fill:ｕｒｌ(x)}</style>' +
          '<text class="фон" font-family="メイリオ,メイリオ_MSFontService,sans-serif" fill="ｕｒｌ(x)">A</text>',
      ),
    );
    expect(cleaned).toContain('.фон,#круг{fill:red;font-family:微软雅黑,sans-serif}');
    expect(cleaned).toContain(
      '<text class="фон" font-family="メイリオ,メイリオ_MSFontService,sans-serif">A</text>',
    );
    expect(cleaned).not.toContain('ｕｒｌ(');
  });

  it('may lack the namespace, as those written by hand', async () => {
    expect(await store('<svg width="5"><g><rect width="5"/></g></svg>')).toContain(
      '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="5"><g><rect width="5"/></g></svg>',
    );
  });

  it('keep what Illustrator writes: entities that stand for the addresses of its namespaces', async () => {
    const cleaned = await store(
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [\n' +
        '  <!ENTITY ns_extend "http://ns.adobe.com/Extensibility/1.0/">\n  <!ENTITY ns_svg "http://www.w3.org/2000/svg">\n]>' +
        '<svg xmlns:x="&ns_extend;" xmlns="&ns_svg;" width="9"><x:slices/><rect width="7"/></svg>',
    );
    expect(cleaned).toContain('width="9"><rect width="7"/></svg>');
  });

  it('keep what Photoshop writes: a picture whose type is misspelt', async () => {
    const image = '<image width="9" height="9" xlink:href="data:img/png;base64,iVBORw0KGgo="/>';
    expect(await store(documentOf(image))).toContain(image);
  });

  it('keep all declarations beside comments, in attributes and sheets', async () => {
    const cleaned = await store(
      documentOf(
        '<g style="fill:red;/* one */stroke:blue/* two; */;opacity:.5"/><style>g{/* x */fill:green}</style>',
      ),
    );
    expect(cleaned.replaceAll(/\s/gu, '')).toContain('style="fill:red;stroke:blue;opacity:.5"');
    expect(cleaned).toContain('g{fill:green}');
  });

  it('are reported when something was removed from them that a browser would have drawn or run', async () => {
    const service = await start();
    const upload = async (markup: string): Promise<string> => {
      const { data } = await service.upload([['files[0]', 'a.svg', documentOf(markup)]]);
      return (data as { messages: string[] }).messages.join();
    };
    const reduced = [
      '<script>alert(1)</script>',
      '<g onclick="alert(1)"/>',
      '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">A label</p></foreignObject>',
      '<image href="https://example.com/a.png"/>',
      '<style>@import url(a.css);</style>',
      '<g style="fill:url(https://example.com/)"/>',
    ];
    for (const markup of reduced)
      expect([markup, await upload(markup)]).toEqual([markup, expect.stringMatching(/removed/u)]);
    const whole = [
      '<g id="a"/><!-- Generator --><metadata><x/></metadata>',
      '<g xmlns:i="urn:inkscape" i:label="x" data-name="y"><i:view/></g><style>g { fill: red; }</style>',
    ];
    for (const markup of whole) expect(await upload(markup)).not.toMatch(/removed/u);
  });

  it('of giant size cost nothing: they are never drawn here', async () => {
    const cleaned = await store(
      '<svg xmlns="http://www.w3.org/2000/svg" width="1e9" height="1e9"><rect width="1e9" height="1e9"/></svg>',
    );
    expect(cleaned).toContain('width="1e9"');
    const service = await start();
    await service.upload([['files[0]', 'a.svg', cleaned]]);
    const { data } = await service.call('files');
    expect(JSON.stringify(data)).toContain('"thumb":"a.svg"');
    expect((await service.call('imageResize', { name: 'a.svg', ...boxOf({ w: 9, h: 9 }) })).status).toBe(400);
  });

  it('made to be slow are read in reasonable time', async () => {
    const service = await start();
    const files = [
      `<style>${'a{'.repeat(300_000)}</style>`,
      `<style>a{b:${'('.repeat(900_000)}}</style>`,
      `<style>[${' '.repeat(900_000)}{c:d}</style>`,
      `<style>${'a'.repeat(900_000)}</style>`,
      `<g style="${'x:y;'.repeat(200_000)}"/>`,
      `<g id="${': '.repeat(400_000)}"/>`,
      `<g fill="${'url('.repeat(200_000)}"/>`,
      `<animate attributeName="d" values="${'M1(;'.repeat(200_000)}"/>`,
    ];
    for (const markup of files) {
      const { status } = await service.upload([['files[0]', 'a.svg', documentOf(markup)]]);
      expect(status).toBe(200);
    }
  });
});

describe('cleaning', () => {
  it('lets other requests go on, however many attributes an element has', async () => {
    const service = await start();
    const attributes = Array.from({ length: 900_000 }, (_, index) => `a${index.toString(36)}=""`).join(' ');
    const bytes = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><g ${attributes}/></svg>`);
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    const { status } = await service.upload([
      ['files[0]', 'a.svg', new Uint8Array(bytes.subarray(0, 8_300_000))],
    ]);
    delays.disable();
    expect(status).toBe(400);
    expect(delays.max / 1e6).toBeLessThan(1000);
  });

  it('leaves no staged bytes behind, whether files are stored or refused', async () => {
    const service = await start();
    const svg = documentOf('<g onclick="x()"/>');
    await service.upload([
      ['files[0]', 'a.svg', svg],
      ['files[1]', 'b.svg', svg],
    ]);
    await service.upload([
      ['files[0]', 'c.svg', svg],
      ['files[1]', 'd.svg', '<svg>'],
    ]);
    // Folders of files that are still arriving hold nothing.
    expect(await service.source('files').paths()).toEqual(['a.svg', 'b.svg']);
  });
});

describe('XML files', () => {
  const pages: Readonly<Record<string, string>> = {
    'a page': '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
    'a script inside of data': '<data><s xmlns="http://www.w3.org/1999/xhtml"/></data>',
    'a drawing inside of data': '<data><x:svg xmlns:x="http://www.w3.org/2000/svg"/></data>',
    'a style sheet that transforms':
      '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="a.xsl"?><data/>',
    'a namespace in the document type':
      '<!DOCTYPE data [<!ATTLIST data xmlns CDATA #FIXED "http://www.w3.org/1999/xhtml">]><data/>',
    'an entity of markup':
      '<!DOCTYPE data [<!ENTITY a "<script xmlns=\'http://www.w3.org/1999/xhtml\'/>">]><data>&a;</data>',
    'a link that runs a script':
      '<data xmlns:x="http://www.w3.org/1999/xlink" x:type="simple" x:href=" javascript:alert(1)"/>',
  };

  it('that browsers show as a page are refused, and nothing is stored', async () => {
    const service = await start();
    for (const [name, xml] of Object.entries(pages)) {
      expect([name, (await service.upload([['files[0]', 'a.xml', xml]])).status]).toEqual([name, 403]);
    }
    const broken = '<data><s xmlns="urn:a">';
    expect((await service.upload([['files[0]', 'a.xml', broken]])).status).toBe(400);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('that are drawings are cleaned', async () => {
    const service = await start();
    const { status } = await service.upload([['files[0]', 'a.xml', documentOf('<script>alert(1)</script>')]]);
    expect(status).toBe(200);
    const stored = await service.source('files').text('a.xml');
    expectHarmless(stored);
    expect(stored).toContain('id="kept"');
  });

  it('that hold data are stored as they come', async () => {
    const service = await start();
    const texts = [
      '<?xml version="1.0"?><!DOCTYPE d [<!ELEMENT d (#PCDATA)> <!ENTITY co "ACME">]><d a="1">&co; <![CDATA[<svg>]]></d>',
      '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link href="https://a.example/"/></channel></rss>',
      `<d>${'é'.repeat(300_000)}</d>`,
    ];
    for (const [index, text] of texts.entries()) {
      const name = `${String(index)}.xml`;
      await service.upload([['files[0]', name, text]]);
      expect(await service.source('files').text(name)).toBe(text);
    }
  });

  it('come in unchecked where the source does not clean', async () => {
    const service = await start({ sanitizeSvg: false });
    expect((await service.upload([['files[0]', 'a.xml', pages['a page'] ?? '']])).status).toBe(200);
  });
});
